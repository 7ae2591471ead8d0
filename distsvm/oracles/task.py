"""Task: what a structure means. A new one takes four methods in plain Python."""

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
"""Metadata of a field that a saved task got after earlier versions wrote models and runs without
it: at its default it is not written, so that runs of earlier versions are of the same task."""


@dataclass(frozen=True)
class Bounded:
    """The answer of an oracle that is not exact: an output, and an upper bound of the maximum.

    `upper` bounds H(w) = max_ŷ of the plane values from above; the certificate of a run with
    such answers is an "upper bound": primal and gap are then bounds, and still true.
    """

    output: Any
    upper: float


@dataclass(frozen=True)
class Circumstances:
    """Where a task is to be trained, for the choice of a solver.

    Parameters
    ----------
    one_block : bool
        Whether all examples are in one process and one block.
    limited : bool
        Whether the memory of a worker is limited.
    n_columns : int or None
        The columns of features that the beginning of the data shows, if it has some.
    rescaling : "margin" or "slack"
    """

    one_block: bool
    limited: bool
    n_columns: int | None
    rescaling: str = "margin"


PENALTIES = frozenset({"linear", "quadratic", "hard"})
"""What a slack may cost: C·ξ, C·ξ²/2, or no price, as there is none."""


class Task(ABC):
    """What a structure means: Ψ, Δ and the search. Frozen, so that it travels to every worker.

    Write `joint_features`, `loss`, `decode` and `separate` and set `dim`; the rest has defaults.
    `distsvm.testing.check_task` tests them on examples of yours. Make the class a frozen
    dataclass whose fields are numbers, strings, lists, dicts and arrays, and its models can be
    saved and loaded without pickle.

    Attributes
    ----------
    dim : int
        The length of w.
    rescalings : set of str
        What `separate` can do: "margin", "slack", or both.
    zero_one_loss : bool
        Whether every Δ is 0 or 1: then Δ, √Δ and 1 are the same, and so are all penalties to the
        search.
    penalties : set of str
        What the search can do: "linear", "quadratic", "hard". A task in Python that declares more
        than "linear" without a `zero_one_loss` is asked `separate(w, x, y, rescaling, penalty)` for
        the others, and maximises √Δ or 1 in the place of Δ.
    largest_loss : float
        An upper bound of Δ.
    loss_unit : float
        The scale of Δ in which the defaults of C and eps are measured: 0.001 of it is the default
        of eps. The largest loss, unless the task knows a better one.
    unfit : "error" or "drop"
        What to do with training examples whose true output the search cannot find: refuse the
        first by name, or leave all of them out and count them.
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
    """What solver="auto" takes: the one that was measured to be fastest for such tasks."""
    capabilities: ClassVar[frozenset[str]] = frozenset({"planes", "steps"})
    """What solvers may ask of the task's oracle; see distsvm.solvers.base.CAPABILITIES."""
    enumerates: ClassVar[bool] = False
    """Whether scoring cached planes costs as much as the oracle: then no cache by default."""
    weighs_features: ClassVar[bool] = False
    """Whether climbers that climb at once count the changes of common features more than once."""

    @property
    def loss_unit(self) -> float:
        return self.largest_loss

    @property
    def penalties(self) -> frozenset[str] | set[str]:
        return PENALTIES if self.zero_one_loss else frozenset({"linear"})

    @abstractmethod
    def joint_features(self, x: Any, y: Any) -> SparseVector | Mapping[int, float] | np.ndarray:
        """Ψ(x, y), of length dim; a dict of {position: value} will do."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ): not negative, and 0 when they are equal."""

    def competes(self, y: Any, y_hat: Any) -> bool:
        """Whether ŷ is an output in training on y; most tasks have all outputs of the input."""
        return True

    @abstractmethod
    def decode(self, w: np.ndarray, x: Any) -> Any:
        """argmax_ŷ ⟨w, Ψ(x, ŷ)⟩, the prediction. w is read-only."""

    @abstractmethod
    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> Any:
        """The most violated output, or Bounded(output, upper).

        argmax_ŷ Δ(y, ŷ) − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩ for rescaling "margin",
        argmax_ŷ Δ(y, ŷ)·(1 − ⟨w, Ψ(x, y) − Ψ(x, ŷ)⟩) for "slack". w is read-only.
        """

    def prepare(self, summary: Summary) -> Task:
        """The task with what it had to learn from one scan of all data (labels, dimension)."""
        return self

    def scan(self, shard: Shard) -> Summary:
        """What prepare() wants to know of one shard."""
        weight = float(shard.n) if shard.weight is None else float(shard.weight.sum())
        return Summary(n_examples=shard.n, weight=weight)

    def packed(self, shard: Shard) -> Shard:
        """The shard as `scan` and `oracle` both need it, made once; errors name the example."""
        return shard

    def check(self, shard: Shard) -> None:
        """Refuse what `scan` refuses in a packed shard, where nothing is to be learnt from it."""
        self.scan(shard)

    def shard(self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None) -> Shard:
        """A few examples in the form that this task's oracle takes them."""
        return Shard(inputs, outputs, None)

    def oracle(self, shard: Shard, rescaling: str) -> Oracle:
        """The task bound to one shard; tasks with compiled kernels give their own."""
        from distsvm.oracles.python import PythonOracle

        return PythonOracle(self, shard, rescaling)

    def predictor(self, w: np.ndarray) -> Predictor | None:
        """What predicts inputs in memory with w; None where a shard has to be made of them."""
        return None

    def of_words(self, words: Sequence[str]) -> Sequence[str]:
        """The words of a plain sentence as the task's inputs have them; most tasks take none."""
        raise ConfigError(f"{type(self).__name__} does not take plain sentences")

    def choose_solver(self, here: Circumstances) -> str:
        """What solver="auto" takes here, where it depends on more than the task."""
        return self.suited_solver

    def encode_output(self, y: Any) -> Any:
        """The output in JSON's terms, for files: numbers, strings, lists, tuples, dicts, arrays."""
        return to_json(y)

    def decode_output(self, data: Any) -> Any:
        """The output that encode_output made `data` of."""
        return from_json(data)

    def check_loaded(self) -> None:  # noqa: B027 (where nothing is compiled, nothing to check)
        """Refuse, with a ValueError, fields that a file holds and prepare() cannot have made.

        Tasks with compiled kernels must: those believe what they are given.
        """

    def radius(self) -> float | None:
        """ρ of the theory, max ‖Ψ(x, y) − Ψ(x, ŷ)‖, if known."""
        return None

    def cost(self, x: Any) -> float:
        """The work of one oracle call on x, in any unit; shards are balanced by it."""
        return 1.0

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        """A starting point for this task from the w of an earlier one; as it is if dim agrees."""
        if earlier.dim != self.dim:
            raise ConfigError(
                message(
                    "{start}: the earlier model has dimension {}, this task {}",
                    earlier.dim,
                    self.dim,
                )
            )
        return w
