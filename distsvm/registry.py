"""Structures (with their tasks) and solvers by name, of distsvm and of other packages.

Another package adds one by an entry point, in its pyproject.toml:

    [project.entry-points."distsvm.structures"]
    rings = "its_package.rings:STRUCTURE"

    [project.entry-points."distsvm.solvers"]
    subgradient = "its_package.subgradient:Subgradient"

    [project.entry-points."distsvm.word_functions"]
    vowels = "its_package.words:vowels"
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from distsvm.errors import ConfigError, nearest
from distsvm.oracles.structure import OWN, Structure, imported, reference_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from distsvm.oracles.task import Task
    from distsvm.solvers.base import Solver

log = logging.getLogger(__name__)

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Objects by name: built-in ones, and those of the entry points of a group.

    Each is imported on first use. An entry point that cannot be loaded raises a ConfigError when it
    is used by its name, and gives a warning when all are listed.

    Parameters
    ----------
    kind : str
        The word for one of them in messages.
    type : str
        'module:Name' of the class of which each is an instance or a subclass.
    built_in : dict of str to str
        'module:Name' by name; an entry point cannot replace one.
    """

    def __init__(self, group: str, kind: str, type: str, built_in: Mapping[str, str]) -> None:
        self._group, self._kind, self._type = group, kind, type
        self._built_in = dict(built_in)
        self._loaded: dict[str, T] = {}
        self._failed: set[str] = set()
        self.version = 0  # grows when earlier results may be incomplete

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # here, as it takes longer than all the rest

        return {point.name: point for point in entry_points(group=self._group)}

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from (name for name in self._points if name not in self._built_in)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            own = self._built_in.get(name)
            self._loaded[name] = imported(own) if own else self._of_package(self._points[name])
        return self._loaded[name]

    def refresh(self) -> None:
        """Look for entry points again on next use."""
        self.version += 1
        self.__dict__.pop("_points", None)
        self._failed.clear()
        for name in self._loaded.keys() - self._built_in.keys():
            del self._loaded[name]

    def built_in(self) -> Iterator[T]:
        """Yield those of distsvm itself."""
        return (self[name] for name in self._built_in)

    def each(self) -> Iterator[T]:
        """Yield the built-in ones, then those of entry points, which are looked for only then."""
        yield from self.built_in()
        yield from (one for name, one in self.all().items() if name not in self._built_in)

    def all(self) -> dict[str, T]:
        """Return all that load; each of the others gives one warning."""
        found = {}
        for name in self:
            try:
                found[name] = self[name]
            except ConfigError as error:
                self._warn_once(name, str(error))
        for name in self._built_in.keys() & self._points.keys():
            self._warn_once(
                name, f"{self._called(self._points[name])}: distsvm has this {self._kind} itself"
            )
        return found

    def _warn_once(self, name: str, text: str) -> None:
        if name not in self._failed:
            self._failed.add(name)  # first, as a handler of the warning may list all again
            log.warning("%s", text)

    def _of_package(self, point: EntryPoint) -> T:
        called = self._called(point)
        try:
            found = point.load()
        except Exception as error:
            raise ConfigError(f"{called} cannot be loaded: {type(error).__name__}: {error}") from (
                error
            )
        wanted = imported(self._type)
        is_below = isinstance(found, type) and issubclass(found, wanted)
        if not (is_below or isinstance(found, wanted)):
            raise ConfigError(
                f"{called} is of type {type(found).__name__}, expected {wanted.__name__}"
            )
        return found

    def _called(self, point: EntryPoint) -> str:
        package = "an unnamed package" if point.dist is None else f"the package {point.dist.name}"
        return f"the {self._kind} {point.name!r} of {package} ({self._group}: {point.value})"


STRUCTURES: Registry[Structure] = Registry(
    "distsvm.structures",
    "structure",
    "distsvm.oracles.structure:Structure",
    {
        name: f"distsvm.structures.{name}:STRUCTURE"
        for name in ("classes", "sequences", "trees", "alignments")
    }
    | {"taxonomies": "distsvm.structures.classes.taxonomies:STRUCTURE"},
)


SOLVERS: Registry[type[Solver]] = Registry(
    "distsvm.solvers",
    "solver",
    "distsvm.solvers.base:Solver",
    {
        "one-slack": "distsvm.solvers.one_slack:OneSlack",
        "multi-plane": "distsvm.solvers.multi_plane:MultiPlane",
        "sequential-dual": "distsvm.solvers.sequential_dual:SequentialDual",
        "n-slack": "distsvm.solvers.n_slack:NSlack",
        "sampled-cuts": "distsvm.solvers.sampled_cuts:SampledCuts",
    },
)


WORD_FUNCTIONS: Registry[Callable[[str], str | None]] = Registry(
    "distsvm.word_functions", "word function", "types:FunctionType", {}
)
"""Attributes of templates; see distsvm.data.templates."""


def refresh() -> None:
    """Look again for packages that were installed or removed since this process began."""
    for registry in (STRUCTURES, SOLVERS, WORD_FUNCTIONS):
        registry.refresh()


def solvers() -> dict[str, type[Solver]]:
    """Return all solvers by name: the built-in ones, then those of other packages."""
    return SOLVERS.all()


def solver_named(name: str) -> type[Solver]:
    """Return the solver of this name; unknown names are refused."""
    if name not in SOLVERS:
        names = list(SOLVERS)
        raise ConfigError("solver", name, f"one of {', '.join(names)}{nearest(name, names)}")
    return SOLVERS[name]


def structures() -> dict[str, Structure]:
    """Return all structures by name: the built-in ones, then those of other packages."""
    return STRUCTURES.all()


def own_structure() -> Structure:
    """Return the structure of tasks that users write in plain Python."""
    return imported(f"{OWN}:STRUCTURE")


def public_names() -> dict[str, str]:
    """Return the names that distsvm exports from the built-in structures, with 'module:Name'."""
    return {
        reference.rpartition(":")[2]: reference
        for structure in STRUCTURES.built_in()
        for reference in (*structure.tasks.values(), *structure.estimators, *structure.others)
    }


def structure_of(task: Task | type[Task]) -> Structure:
    """Return the structure of a task, by its class or the next above it; else `own_structure`."""
    cls = task if isinstance(task, type) else type(task)
    above = [reference_of(one) for one in cls.__mro__]
    found = (one for name in above for one in STRUCTURES.each() if name in one.tasks.values())
    return next(found, None) or own_structure()


def structure_of_saved(name: Any) -> Structure:
    """Return the structure of the task that a model or run names; else `own_structure`.

    The name is as a file has it, which may be a value of any type.
    """
    found = (one for one in STRUCTURES.each() if isinstance(name, str) and name in one.tasks)
    return next(found, None) or own_structure()


class TaskClasses(Mapping[str, "type[Task]"]):
    """Task classes by the names that models and runs save, each imported on first use."""

    def reference(self, name: str) -> str:
        """Return the 'module:Name' of a class; built-in ones come before those of packages."""
        for structure in STRUCTURES.each():
            if name in structure.tasks:
                return structure.tasks[name]
        STRUCTURES.get(name)  # raises its own error, if an entry point of this name does not load
        raise KeyError(name)

    def name_of(self, cls: type[Task]) -> str | None:
        """Return the saved name of a class; None for one that belongs to no structure."""
        reference = reference_of(cls)
        names = [name for name, one in structure_of(cls).tasks.items() if one == reference]
        return next((name for name in names if self.reference(name) == reference), None)

    def __getitem__(self, name: str) -> type[Task]:
        return imported(self.reference(name))

    def __iter__(self) -> Iterator[str]:
        names = [name for structure in structures().values() for name in structure.tasks]
        return iter(dict.fromkeys(names))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def task_classes() -> TaskClasses:
    """Return all task classes by saved name."""
    return TaskClasses()
