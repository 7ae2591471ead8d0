"""Hard constraints: forbidden pairs of neighbouring tags, in training and in prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.kinds import Kind, Unfit
from distsvm.wording import Form, Message, message


class Rules(Kind):
    """ "bio", or in Python a list of pairs of tags; the data decides which tags exist."""

    expected = Message(
        Form("None, 'bio' or a list of pairs (tag, tag) that are forbidden", "bio", '"bio"')
    )

    def check(self, value: Any) -> Any:
        return value

    def parse(self, text: str) -> str:
        if text != "bio":
            raise Unfit
        return text

    def from_toml(self, found: Any) -> str:
        if not isinstance(found, str):
            raise TypeError
        return self.read(found)


def forbidden_pairs(rules: Any, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return masks of forbidden pairs of tags (L, L), first tags (L,) and last tags (L,).

    Parameters
    ----------
    rules : None, "bio" or a list of pairs (tag, tag)
        "bio": I-X only after B-X or I-X of the same X, so never first; I alone is X = "". In a
        pair (before, after), None stands for the start or the end. A pair with a tag that the
        data does not have has no effect.
    labels : sequence of str
    """
    n = len(labels)
    pairs, first, last = np.zeros((n, n), bool), np.zeros(n, bool), np.zeros(n, bool)
    if rules is None:
        return pairs, first, last
    place = {label: i for i, label in enumerate(labels)}
    if isinstance(rules, str):
        if rules != "bio":
            raise ConfigError("allowed", rules, Rules.expected)
        for label, i in place.items():
            if label == "I" or label.startswith("I-"):
                pairs[:, i] = first[i] = True
                for opener in (label, "B" + label[1:]):
                    if opener in place:
                        pairs[place[opener], i] = False
        return pairs, first, last
    for before, after in _checked(rules):
        if before is None and after in place:
            first[place[after]] = True
        elif after is None and before in place:
            last[place[before]] = True
        elif before in place and after in place:
            pairs[place[before], place[after]] = True
    return pairs, first, last


def _checked(rules: Any) -> list[tuple[str | None, str | None]]:
    try:
        found = [(before, after) for before, after in rules]
    except (TypeError, ValueError):
        raise ConfigError("allowed", rules, Rules.expected) from None
    for pair in found:
        if not all(tag is None or isinstance(tag, str) for tag in pair) or pair == (None, None):
            raise ConfigError(message("{allowed}: {} is no pair of tags", repr(pair)))
    return found
