"""The options of kernel functions, which tasks, estimators and the command line share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.making import kernel_function
from distsvm.kernel_functions.named import DEGREE, EXPECTED_GAMMA, FUNCTIONS, GAMMA, GAMMA_WORDS
from distsvm.kinds import Kind, Unfit, choice, number
from distsvm.options import option
from distsvm.wording import Form, Message


class FunctionKind(Kind):
    """The name of a kernel function; in Python also a function of two blocks of rows."""

    _names = ", ".join(FUNCTIONS)
    expected = Message(Form(f"one of {_names}, or a function", f"one of {_names}"))

    def check(self, value: Any) -> Any:
        if isinstance(value, str):
            return choice(*FUNCTIONS).check(value)
        if isinstance(value, KernelFunction):
            return value
        if not callable(value):
            raise Unfit()
        return kernel_function(value)


class GammaKind(Kind):
    """A number > 0, or a word for one that depends on the data."""

    expected = Message(EXPECTED_GAMMA)
    toml = (str, int, float)

    def check(self, value: Any) -> Any:
        return (GAMMA_WORDS if isinstance(value, str) else GAMMA).check(value)

    def parse(self, text: str) -> Any:
        return text if text in GAMMA_WORDS.choices else GAMMA.parse(text)


@dataclass(frozen=True)
class KernelOptions:
    """K(x, x′), the inner product of features of x and x′ that are never computed."""

    kernel: Any = option(
        "rbf", kind=FunctionKind(), metavar="NAME",
        help="K(x, x′). rbf: exp(−γ·‖x − x′‖²); poly: (γ·⟨x, x′⟩ + c₀)^degree; linear: ⟨x, x′⟩; "
        "laplacian: exp(−γ·Σ_j |x_j − x′_j|); precomputed: an input is the row of its values with "
        "all training inputs",
    )  # fmt: skip
    gamma: float | str = option(
        "scale", kind=GammaKind(), metavar="G",
        help="γ: a number; or scale, 1/(d·Var X), auto, 1/d, or median, 1/(2·m²) with the median "
        "distance m of inputs (laplacian: 1/(d·√Var X), 1/d, 1/m)",
    )  # fmt: skip
    degree: int = option(3, kind=DEGREE.kind, metavar="N", help="of poly")
    coef0: float = option(0.0, kind=number(), metavar="V", help="c₀ of poly")

    @property
    def function(self) -> KernelFunction:
        """The kernel function; its γ is a number once the task is prepared."""
        return kernel_function(self.kernel, self.gamma, self.degree, self.coef0)
