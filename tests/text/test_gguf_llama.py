"""Networks from GGUF files: the weights as they were written, and errors for files that are not whole."""

from pathlib import Path

import pytest
import torch
from tiny_gguf import write_gguf

from pipeline.errors import KinoflowError
from pipeline.text.judges.smollm2 import read_llama


@pytest.mark.parametrize("quantised", [False, True], ids=["32 bits", "4 bits"])
def test_a_llama_in_a_gguf_file_gives_the_logits_of_the_network_that_was_written(
    tmp_path: Path, quantised: bool
) -> None:
    written = write_gguf(tmp_path / "tiny.gguf", quantised=quantised)
    network, _ = read_llama(tmp_path / "tiny.gguf")
    x = torch.tensor([[1, 5, 2, 9, 9, 3, 0]])
    with torch.no_grad():
        assert torch.allclose(network(x).logits, written(x).logits, atol=1e-5)


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_gguf_file_is_an_error_that_names_it(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tiny.gguf"
    write_gguf(path, architecture="bloom" if damage == "other" else "llama")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(KinoflowError, match=r"tiny\.gguf: .*(fetch it again|give another file)"):
        read_llama(path)
