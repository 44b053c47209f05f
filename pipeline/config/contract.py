"""What all contracts of plugins have in common: a module is seen through the public names of a class.

Each plugin has its own options, so their type is not known here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel

from pipeline.errors import KinoflowError

PACKAGE = Path(__file__).parents[1]
C = TypeVar("C", bound="Contract")


class Contract:
    """A module, seen through the public names of a subclass.

    The module must define the names that are annotated without a value. The annotation says what to write. For any
    other name, the value here is the default. A subclass with a `mark` is for some modules only: those that give a true
    value to the name in `mark`.
    """

    _mark = ""

    Options: Annotated[type[BaseModel], "class Options(Strict): the keys that users may write"]
    FILES: tuple[str, ...] = ()

    def files(self, options: Any) -> list[str]:
        """Return the files to fetch, by their names in the catalogue."""
        return list(self.FILES)

    def inputs(self, options: Any) -> list[Path]:
        """Return the user's files and folders that are read, missing ones too: every path among the options."""
        return list(paths_in(options))

    def hub_names(self, options: Any) -> list[str]:
        """Return the names of what is read from the Hugging Face Hub."""
        return []

    def modules(self, options: Any) -> list[str]:
        """Return the modules of the plugins that the options choose."""
        return []

    def __init_subclass__(cls, mark: str = "") -> None:
        cls._mark = mark

    def __init__(self, module: ModuleType) -> None:
        self._file = Path(module.__file__ or module.__name__)
        names: dict[str, Any] = {}
        for base in reversed(type(self).__mro__[:-1]):
            names |= dict.fromkeys(vars(base)) | vars(base).get("__annotations__", {})
        for name in [name for name in names if not name.startswith("_")]:
            if hasattr(module, name):
                setattr(self, name, getattr(module, name))
            elif not hasattr(type(self), name):
                raise self._lacks(name, names[name].__metadata__[0])

    def _lacks(self, name: str, wanted: str) -> KinoflowError:
        file = self._file.relative_to(PACKAGE.parent) if self._file.is_relative_to(PACKAGE.parent) else self._file
        return KinoflowError(f"{file}: does not define {name}; add {wanted}")


def paths_in(options: Any) -> Iterator[Path]:
    """Yield the paths among options, those in lists and in options of options too; a folder's files one by one."""
    if isinstance(options, Path):
        yield from sorted(file for file in options.rglob("*") if file.is_file()) if options.is_dir() else [options]
    elif isinstance(options, BaseModel | Mapping):
        for _, value in options if isinstance(options, BaseModel) else options.items():
            yield from paths_in(value)
    elif isinstance(options, list | tuple):
        for value in options:
            yield from paths_in(value)


def view(module: ModuleType, contract: type[C]) -> C:
    """Return a module as the contract sees it, or the subclass of the contract whose mark the module has."""
    marked = next((one for one in contract.__subclasses__() if vars(module).get(one._mark)), None)
    return view(module, marked) if marked else contract(module)
