"""Task: Ψ, Δ and the search of a structure. A new task takes four methods in plain Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distsvm.data.shard import Shard
from distsvm.errors import ConfigError
from distsvm.messages import Summary
from distsvm.oracles.outputs import from_json, to_json
from distsvm.vectors import SparseVector
from distsvm.wording import message

if TYPE_CHECKING:
    from distsvm.oracles.oracle import Oracle
    from distsvm.oracles.predictor import Predictor


LATER = {"later": True}
"""Metadata of a field that is newer than the first saved models and runs of its task.

A field with its default value is not written, so that runs of earlier versions have an equal task.
"""


@dataclass(frozen=True)
class Bounded:
    """The answer of an oracle that is not exact: an output, and an upper bound of the maximum.

    `upper` bounds H(w) = max_ŷ of the plane values from above; the certificate of a run with
    such answers is an "upper bound": primal and gap are then upper bounds, and remain valid.
    """

    output: Any
    upper: float


@dataclass(frozen=True)
class Circumstances:
    """What the choice of a solver depends on, beside the task.

    Parameters
    ----------
    one_block : bool
        Whether all examples are in one process and one block.
    limited : bool
        Whether the memory of a worker is limited.
    n_columns : int or None
        Columns of features at the beginning of the data; None if inputs are not rows of features.
    rescaling : "margin" or "slack"
    """

    one_block: bool
    limited: bool
    n_columns: int | None
    rescaling: str = "margin"


PENALTIES = frozenset({"linear", "quadratic", "hard"})
"""Penalties of a slack: C·ξ, C·ξ²/2, and the hard margin, which allows no slack."""


class Task(ABC):
    """Ψ, Δ and the search of a structure; immutable, because every worker has a copy.

    Write `joint_features`, `loss`, `decode` and `separate` and set `dim`; the rest has defaults.
    `distsvm.testing.check_task` tests them on your examples. If the class is a frozen dataclass
    whose fields are numbers, strings, lists, dicts and arrays, its models can be saved and loaded
    without pickle.

    Attributes
    ----------
    dim : int
        The length of w.
    rescalings : set of str
        The rescalings that `separate` supports: "margin", "slack", or both.
    zero_one_loss : bool
        Whether every Δ is 0 or 1. Then Δ, √Δ and 1 are equal, and the search is the same for all
        penalties.
    penalties : set of str
        The penalties that the search supports: "linear", "quadratic", "hard". If a task in Python
        declares more than "linear" and has no `zero_one_loss`, the oracle calls
        `separate(w, x, y, rescaling, penalty)` for the others; the task then maximises with √Δ or 1
        in the place of Δ.
    largest_loss : float
        An upper bound of Δ.
    loss_unit : float
        The scale of Δ for the defaults of C and eps: the default of eps is 0.001·loss_unit. By
        default it is the largest loss.
    unfit : "error" or "drop"
        What happens to training examples whose true output the search cannot find: "error" refuses
        the first by name, "drop" drops and counts all of them.
    """

    dim: int
    rescalings: ClassVar[frozenset[str] | set[str]] = frozenset({"margin"})
    largest_loss: float = 1.0
    unfit: str = "error"
    zero_one_loss: ClassVar[bool] = False
    compiled: ClassVar[bool] = False
    tables: ClassVar[bool] = False
    """Whether inputs are rows of a table of features; if not, an array is a sequence of inputs."""
    string_inputs: ClassVar[bool] = True
    """Whether an input may be a str: a list of them to predict on then holds inputs, not paths."""
    suited_solver: ClassVar[str] = "one-slack"
    """The solver of solver="auto": the fastest measured one for such tasks."""
    capabilities: ClassVar[frozenset[str]] = frozenset({"planes", "steps"})
    """What the task's oracle can do for solvers; see distsvm.solvers.base.CAPABILITIES."""
    enumerates: ClassVar[bool] = False
    """Whether scoring cached planes costs as much as the oracle: then no cache by default."""
    weighs_features: ClassVar[bool] = False
    """Whether climbers of parallel blocks count changes of frequent features more than once."""

    growth: float = 1.0
    """Bytes that an example takes in memory for each byte as it was read; it sizes pieces."""
    certified_for: str = ""
    """The problem that certificates are about, where it is not the one of the inputs themselves."""

    @property
    def loss_unit(self) -> float:
        return self.largest_loss

    @property
    def penalties(self) -> frozenset[str] | set[str]:
        return PENALTIES if self.zero_one_loss else frozenset({"linear"})

    @abstractmethod
    def joint_features(self, x: Any, y: Any) -> SparseVector | Mapping[int, float] | np.ndarray:
        """Return Ψ(x, y), of length dim; it may be a dict {position: value}."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ(y, ŷ), which is at least 0, and 0 for equal outputs."""

    def competes(self, y: Any, y_hat: Any) -> bool:
        """Return whether ŷ competes with y in training; in most tasks every output does."""
        return True

    @abstractmethod
    def decode(self, w: np.ndarray, x: Any) -> Any:
        """Return the prediction argmax_ŷ ⟨w, Ψ(x, ŷ)⟩. w is read-only."""

    @abstractmethod
    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> Any:
        """Return the most violated output, or Bounded(output, upper).

        argmax_ŷ Δ(y, ŷ) − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩ for rescaling "margin",
        argmax_ŷ Δ(y, ŷ)·(1 − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩) for "slack". w is read-only.
        """

    def prepare(self, summary: Summary) -> Task:
        """Return the task with labels, dimension and so on from the summary of all data."""
        return self

    def scan(self, shard: Shard) -> Summary:
        """Return one shard's part of the summary for `prepare`."""
        weight = float(shard.n) if shard.weight is None else float(shard.weight.sum())
        return Summary(n_examples=shard.n, weight=weight)

    def packed(self, shard: Shard) -> Shard:
        """Return the shard in the form that `scan` and `oracle` share; errors name the example."""
        return shard

    def check(self, shard: Shard) -> None:
        """Refuse a packed shard that `scan` refuses, where its summary is not needed."""
        self.scan(shard)

    def shard(self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None) -> Shard:
        """Return a shard of a few examples for this task's oracle."""
        return Shard(inputs, outputs, None)

    def oracle(self, shard: Shard, rescaling: str) -> Oracle:
        """Return the task bound to one shard; tasks with compiled kernels override it."""
        from distsvm.oracles.python import PythonOracle

        return PythonOracle(self, shard, rescaling)

    def predictor(self, w: np.ndarray) -> Predictor | None:
        """Return a predictor of inputs in memory with w; None if predictions need a shard."""
        return None

    def of_words(self, words: Sequence[str]) -> Sequence[str]:
        """Return an input from the words of a plain sentence; most tasks take no sentences."""
        raise ConfigError(f"{type(self).__name__} does not take plain sentences")

    def choose_solver(self, here: Circumstances) -> str:
        """Return the solver of solver="auto" under these circumstances."""
        return self.suited_solver

    def encode_output(self, y: Any) -> Any:
        """Return the output as JSON-able data for files."""
        return to_json(y)

    def decode_output(self, data: Any) -> Any:
        """Return the output that `encode_output` turned into `data`."""
        return from_json(data)

    def check_loaded(self) -> None:  # noqa: B027 (where nothing is compiled, nothing to check)
        """Raise ValueError for fields of a file that `prepare` cannot have made.

        Tasks with compiled kernels must override it, because kernels do not check their arguments.
        """

    def radius(self) -> float | None:
        """Return ρ of the theory, max ‖Ψ(x, y) − Ψ(x, ŷ)‖; None if it is unknown."""
        return None

    def map_facts(self) -> dict[str, Any] | None:
        """Return what results say about the task's feature map, as JSON; None if it has none."""
        return None

    def cost(self, x: Any) -> float:
        """Return the work of one oracle call on x, in any unit; it balances shards."""
        return 1.0

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """Return a starting point for this task from an earlier task's w; by default w itself."""
        if earlier.dim != self.dim:
            raise ConfigError(
                message(
                    "{start}: the earlier model has dimension {}, this task {}",
                    earlier.dim,
                    self.dim,
                )
            )
        return w
