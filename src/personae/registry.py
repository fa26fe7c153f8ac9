"""Classes chosen by name: a new method is one new file and is found by its registered name."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from personae.errors import UserError, nearest

C = TypeVar("C", bound="type[Registrable]")


class Registrable:
    """Base of everything that a recipe or a command names.

    A direct subclass (``Fusion``, ``Reader``, ``Metric``) opens a registry of its own; its subclasses
    enter it with ``@Fusion.register("paa")``.
    """

    name: ClassVar[str] = ""
    _classes: ClassVar[dict[str, type["Registrable"]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if Registrable in cls.__bases__:
            cls._classes = {}

    @classmethod
    def register(cls, name: str) -> Callable[[C], C]:
        """Enter the decorated class under ``name``. A name taken twice is a ``ValueError``."""

        def enter(subclass: C) -> C:
            if name in cls._classes:
                taken = cls._classes[name]
                raise ValueError(f"{cls.__name__} '{name}' is already {taken.__module__}.{taken.__name__}")
            cls._classes[name] = subclass
            subclass.name = name
            return subclass

        return enter

    @classmethod
    def get(cls, name: str) -> type[Self]:
        """Return the class called ``name``; an unknown name is a ``UserError`` that lists the choices."""
        if name not in cls._classes:
            kind = cls.__name__.lower()
            choices = ", ".join(cls.names())
            raise UserError(f"unknown {kind} '{name}'.{nearest(name, cls.names())} Choose one of: {choices}")
        return cls._classes[name]  # type: ignore[return-value]

    @classmethod
    def build(cls, name: str, **options: Any) -> Self:
        """Make an instance of the class called ``name``; an option that it lacks is a ``UserError``."""
        chosen = cls.get(name)
        known = inspect.signature(chosen).parameters.values()
        if not any(each.kind is each.VAR_KEYWORD for each in known):
            own = [each.name for each in known]
            for option in (option for option in options if option not in own):
                raise UserError(
                    f"{cls.__name__.lower()} '{name}' has no option '{option}'.{nearest(option, own)} "
                    f"It has: {', '.join(own) or 'none'}"
                )
        return chosen(**options)

    @classmethod
    def names(cls) -> list[str]:
        """All registered names, sorted."""
        return sorted(cls._classes)

    @classmethod
    def summary(cls) -> str:
        """First line of the class docstring, for ``personae list``."""
        return (cls.__doc__ or "").strip().split("\n")[0]


def import_submodules(package: ModuleType | str) -> None:
    """Import every module of ``package``, so that each class in it is registered."""
    found = importlib.import_module(package) if isinstance(package, str) else package
    for module in pkgutil.iter_modules(found.__path__):
        importlib.import_module(f"{found.__name__}.{module.name}")
