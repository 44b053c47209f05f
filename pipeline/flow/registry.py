"""Named implementations: a decorator to add one, a look-up with a helpful error, and the options of each."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pipeline.errors import did_you_mean
from pipeline.flow.errors import FlowError

T = TypeVar("T", bound=Callable[..., Any])


class Registry(Generic[T]):
    """A mapping from names to functions. Their keyword-only parameters are the options that a user may set.

    >>> greetings = Registry("greeting")
    >>> @greetings.register("hello")
    ... def hello(name, *, mark="!"):
    ...     return f"Hello, {name}{mark}"
    >>> greetings.bind("hello", mark="?")("Ada")
    'Hello, Ada?'
    >>> greetings.get("helo")
    Traceback (most recent call last):
    pipeline.flow.errors.FlowError: unknown greeting 'helo'; did you mean 'hello'? allowed: hello
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._entries: dict[str, T] = {}
        self._examples: dict[str, Callable[..., dict[str, Any]]] = {}

    def register(self, name: str, example: Callable[..., dict[str, Any]] | None = None) -> Callable[[T], T]:
        """Return a decorator that adds a function under `name`.

        Some options come from data and have no useful default. Then `example` makes options to try the function with.
        """

        def add(entry: T) -> T:
            if name in self._entries:
                raise FlowError(f"{self.noun} {name!r} is registered twice; choose another name")
            self._entries[name] = entry
            if example:
                self._examples[name] = example
            return entry

        return add

    def names(self) -> list[str]:
        """Return the registered names in alphabetical order."""
        return sorted(self._entries)

    def get(self, name: str) -> T:
        """Return the function registered under `name`."""
        if name not in self._entries:
            raise FlowError(f"unknown {self.noun} {name!r}; {did_you_mean(name, self.names())}")
        return self._entries[name]

    def name_of(self, entry: Callable[..., Any]) -> str | None:
        """Return the name of a registered function, None for any other, even one that wraps a registered function."""
        return next((name for name, known in self._entries.items() if known is entry), None)

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """Return the keyword-only parameters of the function registered under `name`."""
        parameters = inspect.signature(self.get(name)).parameters
        return {key: value for key, value in parameters.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}

    def example(self, name: str, *arguments: Any) -> dict[str, Any]:
        """Return options with which the function registered under `name` can be tried on `arguments`."""
        return self._examples[name](*arguments) if name in self._examples else {}

    def bind(self, name: str, **options: Any) -> T:
        """Return the function registered under `name` with its options set; an unknown option is an error."""
        entry, known = self.get(name), list(self.options(name))
        for key in options:
            if key not in known:
                raise FlowError(f"{self.noun} {name!r} takes no option {key!r}; {did_you_mean(key, known)}")
        return functools.partial(entry, **options) if options else entry  # type: ignore[return-value]
