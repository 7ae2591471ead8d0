"""The part of a structure that the service uses: inputs and outputs of its models as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from distsvm.errors import DataError
from distsvm.model import Model


@dataclass(frozen=True, eq=False)
class Answers:
    """How a model is asked, and how it answers.

    Parameters
    ----------
    help : str
        The JSON of an input.
    inputs : function of the model and a list of JSON values
        Returns the inputs; a DataError names the first that is unfit.
    joined : function of a list of such inputs
        Returns the argument of Model.predict.
    outputs : function of the model and the predictions
        Returns JSON values.
    details : function of the model and the inputs, optional
        Returns a JSON object for each input, that says how its prediction came about.
    example : function of the model
        Returns an input as JSON, for a form.
    picture : function of a JSON output, optional
        Returns an SVG.
    """

    help: str
    inputs: Callable[[Model, list[Any]], list[Any]]
    outputs: Callable[[Model, Any], list[Any]]
    joined: Callable[[list[Any]], Any] = lambda inputs: inputs
    details: Callable[[Model, list[Any]], list[dict[str, Any]]] | None = None
    example: Callable[[Model], Any] = lambda model: None
    picture: Callable[[Any], str] | None = None


def words_of(number: int, value: Any) -> list[str]:
    """Return the words of a plain sentence, or of a list of words."""
    from distsvm.data.words import sentences_of

    if isinstance(value, str):
        (words,) = sentences_of([value.encode("utf-8", "replace")], f"input {number}", False)
        return list(words)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value
    raise DataError(f"input {number}: {value!r:.60}: expected a sentence, or a list of words")


def numbers_of(number: int, value: Any, size: int) -> Sequence[float]:
    """Return a row of `size` numbers."""
    fits = isinstance(value, list) and all(
        isinstance(x, (int, float)) and not isinstance(x, bool) for x in value
    )
    if not fits or len(value) != size:
        found = f"{len(value)} values" if isinstance(value, list) else f"{value!r:.60}"
        raise DataError(f"input {number}: {found}: expected a row of {size} numbers")
    return value
