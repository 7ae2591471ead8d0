"""The progress of a run, and its display at a given width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from distsvm.cli.estimates import MOST_POINTS, time_left, way_done
from distsvm.cli.formatting import (
    PLAIN,
    Style,
    asked_for,
    clipped,
    clock,
    count,
    counted,
    seconds,
    share,
    small,
    value,
    visible,
)
from distsvm.solvers.round import Round, shown_columns
from distsvm.training.callbacks import PathStep, RunStart

COMPILING = "compiling kernels for this machine (once; kept on disk)"
STOPPING = "stopping after this round; Ctrl-C again aborts at once"
RECENT = 2 * MOST_POINTS
LABEL, VALUE, BETWEEN = 10, 13, 3
SEPARATOR = " · "
EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass
class Progress:
    """The facts of a run so far, from `began` and `add`."""

    title: str = ""
    doing: str = "loading and scanning the data"
    start: RunStart | None = None
    record: Round | None = None
    compiling: bool = False
    max_seconds: float | None = None
    first_gap: float = math.inf
    points: tuple[tuple[float, float], ...] = ()
    pace: tuple[tuple[int, float], ...] = ()
    earlier_s: float = 0.0
    stopping: bool = False

    def began(self, start: RunStart) -> None:
        self.start = start
        self.doing = "first round"

    def add(self, record: Round) -> None:
        self.record = record
        # New tuples, because another thread may be reading the last ones.
        self.pace = (*self.pace, (record.number, record.elapsed_s))[-RECENT:]
        if record.kind == "fresh":
            self.points = (*self.points, (record.elapsed_s, record.gap))[-RECENT:]
            if not math.isfinite(self.first_gap):
                self.first_gap = record.gap

    @property
    def target(self) -> float:
        """The gap that ends the run: C·eps, rel_gap·primal, or the larger of both."""
        if self.start is None:
            return 0.0
        target = self.start.C * (self.start.eps or 0.0)
        if self.record is not None and self.start.rel_gap is not None:
            target = max(target, self.start.rel_gap * abs(self.record.best_primal))
        return target

    def left_s(self, session_s: float) -> float | None:
        """Return seconds until the gap or a limit is reached, `session_s` after the start.

        An estimate of the last round counts down until the next; None once it was too short.
        """
        since_gap_s = since_round_s = 0.0
        if self.points:
            since_gap_s = self.earlier_s + session_s - self.points[-1][0]
        if self.pace:
            since_round_s = self.earlier_s + session_s - self.pace[-1][1]
        estimates = [
            (time_left(self.points, self.target), since_gap_s),
            (self._rounds_left_s(), since_round_s),
        ]
        if self.max_seconds is not None and self.record is not None:
            estimates.append((self.max_seconds, session_s))
        known = [(s - since_s, s) for s, since_s in estimates if s is not None]
        if not known:
            return None
        left_s, at_first_s = min(known)
        if left_s > 0 or at_first_s == 0:
            return max(0.0, left_s)
        return None

    def _rounds_left_s(self) -> float | None:
        if self.start is None or self.start.max_rounds is None or len(self.pace) < 2:
            return None
        (first, then_s), (last, now_s) = self.pace[0], self.pace[-1]
        return max(0, self.start.max_rounds - last) * (now_s - then_s) / (last - first)


def render(
    progress: Progress,
    session_s: float,
    width: int,
    style: Style = PLAIN,
    *,
    unicode: bool = True,
    spinner: str = "",
) -> list[str]:
    """Return the display as lines of at most `width` columns, `session_s` after the start."""
    lines = [_title(progress, width, style)]
    if progress.record is None:
        doing = COMPILING if progress.compiling else progress.doing
        lines.append(f"{spinner} {doing}  {style.dim(clock(session_s))}".lstrip())
    else:
        lines += [_bar_line(progress, width, style, unicode)]
        lines += _grid(_cells(progress, progress.record, session_s), width, style)
    if progress.stopping:
        lines.append(style.bold(STOPPING))
    return [clipped(line, width) for line in lines if line]


def plain_line(progress: Progress, session_s: float) -> str:
    """Return the last round in one line, for logs."""
    record = progress.record
    assert record is not None
    left = progress.left_s(session_s)
    parts = [
        f"round {record.number} {record.kind}",
        f"primal {value(record.best_primal)}",
        f"dual {value(record.dual)}",
        f"gap {small(record.gap)} of {small(progress.target)}",
        *(f"{label} {text}" for label, text in own_cells(record)),
        f"calls {count(record.n_oracle_calls)}",
    ]
    if record.n_cache_hits:
        parts.append(f"hits {count(record.n_cache_hits)}")
    if record.validation_loss is not None:
        parts.append(f"validation loss {small(record.validation_loss)}")
    parts += [seconds(record.elapsed_s), f"left {'?' if left is None else '~' + clock(left)}"]
    return "  ".join(parts)


def own_cells(record: Round) -> list[tuple[str, str]]:
    """Return the solver's own columns; the number of cuts or planes with α > 0 is in brackets."""
    cells = []
    for column in shown_columns(record):
        text = column.text(record)
        if column.support:
            longer = f"{text} ({column.support_text(record)})"
            text = longer if len(longer) <= VALUE else text
        cells.append((column.label, text))
    return cells


def step_words(step: PathStep) -> str:
    """Return the number of a run within its path."""
    words = f"value {step.number} of {step.n_values}"
    if step.fold > step.n_folds:
        return f"{words}, on all data"
    return f"{words}, fold {step.fold} of {step.n_folds}" if step.n_folds else words


def start_line(start: RunStart) -> str:
    """Return size, C and place of a run in one line."""
    return SEPARATOR.join(_start_parts(start))


def bar(part: float, width: int, unicode: bool = True) -> str:
    """Return a bar, filled to this part with a precision of an eighth of a column."""
    part = min(1.0, max(0.0, part))
    if not unicode:
        full = int(part * width)
        return "#" * full + "." * (width - full)
    eighths = int(part * width * 8)
    full, rest = divmod(eighths, 8)
    text = "█" * full + (EIGHTHS[rest] if rest else "")
    return text + "░" * (width - len(text))


def _start_parts(start: RunStart) -> list[str]:
    return [
        f"{count(start.n_examples)} examples",
        f"dim {count(start.dim)}",
        f"C {start.C:.6g}",
        asked_for(start.eps, start.rel_gap),
        f"{counted(start.n_shards, 'shard')} in {counted(start.n_blocks, 'block')} on "
        f"{start.executor} × {start.n_workers}",
    ]


def _title(progress: Progress, width: int, style: Style) -> str:
    """Return the title and the facts that fit into the width."""
    facts = ""
    for part in [] if progress.start is None else _start_parts(progress.start):
        longer = f"{facts}{SEPARATOR}{part}" if facts else part
        if len(progress.title) + 2 + len(longer) > width:
            break
        facts = longer
    return f"{style.bold(progress.title)}  {style.dim(facts)}".strip()


def _bar_line(progress: Progress, width: int, style: Style, unicode: bool) -> str:
    record = progress.record
    assert record is not None
    done = way_done(progress.first_gap, record.gap, progress.target)
    if done is None:
        text = f"gap {small(record.gap)}, until rounding allows no more"
        return clipped(text, width)
    before = f"gap {small(record.gap):<8} "
    after = f" {small(progress.target)} {100 * done:3.0f} %"
    room = width - len(before) - len(after)
    if room < 8:
        return before + after
    filled = bar(done, room, unicode)
    edge = len(filled.rstrip("░."))
    coloured = style.good(filled[:edge]) + style.dim(filled[edge:])
    return style.bold(before) + coloured + after


def _cells(progress: Progress, record: Round, session_s: float) -> list[tuple[str, str]]:
    left = progress.left_s(session_s)
    cells = [
        ("round", f"{count(record.number)} {record.kind}"),
        ("primal", value(record.best_primal)),
        ("dual", value(record.dual)),
        ("oracle", share(record.seconds.get("oracle", 0.0), sum(record.seconds.values()))),
        ("calls", count(record.n_oracle_calls)),
        ("cache hits", count(record.n_cache_hits)),
        *own_cells(record),
        ("elapsed", clock(progress.earlier_s + session_s)),
        ("left", "?" if left is None else f"~{clock(left)}"),
    ]
    if record.validation_loss is not None and record.validation_accuracy is not None:
        cells.append(("val. loss", small(record.validation_loss)))
        cells.append(("val. acc.", f"{record.validation_accuracy:.4f}"))
    return cells


def _grid(cells: Sequence[tuple[str, str]], width: int, style: Style) -> list[str]:
    """Return cells in columns of a fixed width, so that no cell moves between drawings."""
    cell_width = LABEL + VALUE
    n_columns = max(1, (width + BETWEEN) // (cell_width + BETWEEN))
    # The least number of rows, with about equally many cells.
    n_rows = -(-len(cells) // n_columns)
    n_columns = -(-len(cells) // n_rows)
    lines = []
    for first in range(0, len(cells), n_columns):
        row = []
        for label, text in cells[first : first + n_columns]:
            text = clipped(text, VALUE)
            row.append(style.dim(label.ljust(LABEL)) + " " * (VALUE - visible(text)) + text)
        lines.append((" " * BETWEEN).join(row))
    return lines
