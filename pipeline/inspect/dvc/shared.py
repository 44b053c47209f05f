"""What blocks of one stage have in common: one says it, the others take it over."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.inspect.dvc.blocks import Block

OF = "${of}"  # in place of the experiment


@dataclass(eq=False)
class Said:
    """What a block says: `content`, over what `base` says. With a base or an anchor, it has OF for its experiment."""

    content: dict[str, Any]
    base: "Said | None" = None
    anchor: str = ""


def sayings(blocks: Sequence[Block]) -> list[Said]:
    """Return what each block says: all of it, or what differs from an earlier block of the same stage."""
    said: list[Said] = []
    whole: dict[str, list[Said]] = {}  # by stage
    for block in blocks:
        content, bases = _template(block), whole.setdefault(block.label, [])
        fitting = [base for base in bases if base.content.keys() <= content.keys()]
        differing = [[key for key in content if content[key] != base.content.get(key)] for base in fitting]
        number = min(range(len(fitting)), key=lambda one: len(differing[one]), default=None)
        if number is None or len(differing[number]) > len(content) - 2:
            said.append(Said(content))
            bases.append(said[-1])
        else:
            base = fitting[number]
            first = not any(other.anchor for other in bases)
            base.anchor = base.anchor or (block.label if first else blocks[said.index(base)].name)
            said.append(Said({key: content[key] for key in differing[number]}, base))
    return [one if one.base or one.anchor else Said(block.content) for one, block in zip(said, blocks, strict=True)]


def _template(block: Block) -> dict[str, Any]:
    text = json.dumps(block.content, ensure_ascii=False)
    template: dict[str, Any] = json.loads(re.sub(rf'(?<=[/."]){block.experiment}(?![A-Za-z0-9])', OF, text))
    return template
