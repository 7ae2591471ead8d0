"""The warning about true labels that did not occur in training, which count as wrong."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

log = logging.getLogger(__name__)

SHOWN = 8


def tell_unseen(parts: Iterable[Counter[str]]) -> None:
    """Log one warning about all parts' true labels that did not occur in training, if any."""
    total: Counter[str] = sum(parts, Counter())
    if total:
        names = [f"{label!r} ({n})" for label, n in total.most_common(SHOWN)]
        more = f", … ({len(total)} in all)" if len(total) > SHOWN else ""
        log.warning(
            "true labels that training did not see count as wrong: %d, of %s%s",
            total.total(), ", ".join(names), more,
        )  # fmt: skip
