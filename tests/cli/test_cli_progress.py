"""The progress display as a function of records, and the lines that are drawn in place."""

import io
import math
import re

import pytest

from distsvm.cli import formatting
from distsvm.cli.estimates import time_left, way_done
from distsvm.cli.formatting import Style, visible
from distsvm.cli.output import Screen
from distsvm.cli.progress import COMPILING, Progress, bar, plain_line, render
from distsvm.kernels.compiling import on_first_compile
from distsvm.solvers.round import Round
from distsvm.training.callbacks import RunStart

START = RunStart(
    n_examples=522_911, dim=385, n_shards=16, n_workers=2, executor="threads", C=1e6, eps=0.1,
    rel_gap=None, max_rounds=None, bound_on_rounds=None, first_round=1,
)  # fmt: skip


def record(number, gap, kind="fresh", **more):
    facts = {
        "primal": None, "best_primal": 1234567.891 + gap, "dual": 1234567.891, "risk": None,
        "w_norm": 3.0, "solver": "one-slack",
        "own": {"n_cuts": 1234, "n_support_cuts": 321},
        "n_oracle_calls": 522_911 * number, "n_cache_hits": 98_765_432, "n_planes": 0,
        "elapsed_s": 2.0 * number,
        "seconds": {"oracle": 8.0, "cache": 1.0, "qp": 0.5, "cuts": 0.5},
    }  # fmt: skip
    return Round(number=number, kind=kind, gap=gap, **facts | more)


def progress_of(n_rounds, rate=0.5, start=START):
    progress = Progress("distsvm multiclass")
    progress.began(start)
    for number in range(1, n_rounds + 1):
        progress.add(record(number, 1e9 * rate**number))
    return progress


# --- time left -----------------------------------------------------------------------------


def test_time_left_of_a_geometric_gap_is_exact():
    points = [(3.0 * i, 100.0 * 0.8**i) for i in range(20)]
    rounds_left = math.log(1e-3 / points[-1][1]) / math.log(0.8)
    assert time_left(points, 1e-3) == pytest.approx(3.0 * rounds_left)


def test_time_left_follows_the_recent_pace():
    slow = [(float(i), 0.99**i) for i in range(40)]
    gap, at = slow[-1][1], slow[-1][0]
    fast = [(at + i, gap * 0.5**i) for i in range(1, 60)]
    rounds_left = math.log(1e-30 / fast[-1][1]) / math.log(0.5)
    assert time_left(slow + fast, 1e-30) == pytest.approx(rounds_left)


@pytest.mark.parametrize(
    ("points", "target"),
    [
        ([(0.0, 1.0), (1.0, 0.5)], 1e-3),
        ([(float(i), 1.0) for i in range(10)], 1e-3),
        ([(float(i), 1.0 + i) for i in range(10)], 1e-3),
        ([(float(i), 0.5**i) for i in range(10)], 0.0),
        ([(1.0, 0.5**i) for i in range(10)], 1e-9),
    ],
    ids=["few", "flat", "rising", "no target", "no time"],
)
def test_time_left_is_unknown_until_it_can_be_known(points, target):
    assert time_left(points, target) is None


def test_time_left_is_no_longer_than_the_limits():
    progress = progress_of(10, rate=0.99)
    assert progress.left_s(20.0) > 100
    progress.max_seconds = 25.0
    assert progress.left_s(20.0) == pytest.approx(5.0)
    limited = RunStart(**{**START.__dict__, "max_rounds": 12})
    assert progress_of(10, rate=0.99, start=limited).left_s(20.0) == pytest.approx(4.0)


def test_time_left_counts_down_during_a_round_and_is_unknown_when_it_is_over():
    progress = progress_of(10, rate=0.5)
    left = progress.left_s(20.0)
    assert progress.left_s(20.5) == pytest.approx(left - 0.5)
    assert progress.left_s(20.0 + left + 1) is None
    limited = progress_of(10, rate=0.99, start=RunStart(**{**START.__dict__, "max_rounds": 12}))
    assert limited.left_s(21.0) == pytest.approx(3.0)
    assert limited.left_s(30.0) is None


def test_time_left_of_a_resumed_run_counts_from_its_last_round():
    progress = progress_of(10, rate=0.5)
    left = progress.left_s(20.0)
    progress.earlier_s = 15.0
    assert progress.left_s(6.0) == pytest.approx(left - 1.0)


def test_nothing_is_left_at_the_wished_gap():
    progress = progress_of(10, rate=0.5)
    progress.add(record(11, 1.0))
    assert progress.left_s(22.001) == 0.0


def test_way_done_is_logarithmic():
    assert way_done(1e4, 1e2, 1.0) == pytest.approx(0.5)
    assert way_done(1e4, 0.5, 1.0) == 1.0
    assert way_done(1e4, 1e4, 1.0) == 0.0
    assert way_done(1e4, 1.0, 0.0) is None


def test_the_target_is_the_looser_of_the_two():
    progress = progress_of(3, start=RunStart(**{**START.__dict__, "rel_gap": 0.5}))
    assert progress.target == pytest.approx(0.5 * progress.record.best_primal)
    assert progress_of(3).target == pytest.approx(1e5)


# --- rendering -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 30, 59, 60, 79, 99, 200])
@pytest.mark.parametrize("style", [Style(False), Style(True)], ids=["plain", "coloured"])
@pytest.mark.parametrize("n_rounds", [0, 1, 12])
def test_no_line_is_wider_than_the_terminal(width, style, n_rounds):
    progress = progress_of(n_rounds)
    if n_rounds:
        progress.add(record(n_rounds + 1, 3.0, validation_loss=0.123, validation_accuracy=0.987))
    progress.stopping = True
    lines = render(progress, 12.0, width, style)
    assert lines
    assert max(visible(line) for line in lines) <= width


def test_the_display_tells_what_is_asked_of_it():
    progress = progress_of(12)
    text = "\n".join(render(progress, 24.0, 99))
    for part in ("522,911 examples", "round", "12 fresh", "primal", "dual", "1234568", "gap",
                 "1e+05", "oracle", "80 %", "cache hits", "98,765,432", "cuts", "1,234 (321)",
                 "elapsed", "24 s", "left", "█", "░"):  # fmt: skip
        assert part in text


def test_time_left_is_a_question_mark_at_first_and_then_a_time():
    assert re.search(r"left +\?", "\n".join(render(progress_of(2), 4.0, 99)))
    assert re.search(r"left +~\d", "\n".join(render(progress_of(8), 16.0, 99)))


def test_nothing_moves_between_two_drawings():
    first, second = (render(progress_of(n), 2.0 * n, 99) for n in (8, 9))
    assert [len(line) for line in first] == [len(line) for line in second]
    assert len(render(progress_of(8), 16.0, 59)) <= 8


def test_before_the_first_round_it_says_what_happens():
    progress = Progress("distsvm multiclass")
    assert "loading and scanning" in render(progress, 1.0, 60, spinner="*")[1]
    progress.compiling = True
    assert COMPILING in render(progress, 1.0, 79)[1]
    progress.began(START)
    assert COMPILING in render(progress, 1.0, 79)[1]


def test_without_a_target_there_is_no_bar():
    progress = progress_of(5, start=RunStart(**{**START.__dict__, "eps": 0.0}))
    text = "\n".join(render(progress, 1.0, 99))
    assert "until rounding allows no more" in text
    assert "░" not in text


def test_the_bar_fills_from_left_to_right():
    assert bar(0.0, 10) == "░" * 10
    assert bar(0.5, 10) == "█" * 5 + "░" * 5
    assert bar(1.0, 10) == "█" * 10
    assert bar(0.55, 10, unicode=False) == "#####....."
    assert {len(bar(i / 97, 10)) for i in range(98)} == {10}


def test_a_plain_line_has_no_escapes_and_all_values():
    line = plain_line(progress_of(7), 14.0)
    assert "\x1b" not in line
    assert line.startswith("round 7 fresh  primal 9047068")
    assert "of 1e+05" in line


# --- drawing in place ----------------------------------------------------------------------


class Terminal(io.StringIO):
    """As much of a terminal as the display needs; `lines` is what one sees."""

    def lines(self):
        shown, row = [""], 0
        for token in re.findall(r"\x1b\[[?0-9]*[A-Za-z]|\n|[^\x1b\n]+", self.getvalue()):
            if token == "\n":
                row += 1
                if row == len(shown):
                    shown.append("")
                column = 0
            elif token.endswith("F"):
                row -= int(token[2:-1])
                column = 0
            elif token == "\x1b[J":
                del shown[row + 1 :]
                shown[row] = ""
            elif token == "\x1b[K":
                shown[row] = shown[row][:column]
            elif not token.startswith("\x1b"):
                shown[row] = token
                column = len(token)
        return shown


def test_lines_are_replaced_and_others_go_above_them():
    terminal = Terminal()
    screen = Screen(terminal)
    screen.draw(["one longer line", "two", "three"])
    screen.draw(["1", "2"])
    assert terminal.lines() == ["1", "2", ""]
    with screen.aside():
        terminal.write("distsvm: warning: look\n")
    assert terminal.lines() == ["distsvm: warning: look", "1", "2", ""]
    screen.draw(["3"])
    assert terminal.lines() == ["distsvm: warning: look", "3", ""]
    screen.clear()
    assert terminal.lines() == ["distsvm: warning: look", ""]
    assert terminal.getvalue().endswith("\x1b[?25h")


def test_a_drawing_is_one_write():
    writes = []

    class Stream(io.StringIO):
        def write(self, text):
            writes.append(text)
            return len(text)

    Screen(Stream()).draw(["a", "b", "c"])
    assert len(writes) == 1


# --- text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("s", "text"),
    [(0.0, "0.00 s"), (3.214, "3.21 s"), (9.999, "10 s"), (59.4, "59 s"), (59.6, "1:00"),
     (187, "3:07"), (3727, "1:02:07")],
)  # fmt: skip
def test_durations(s, text):
    assert formatting.seconds(s) == text


def test_pairs_are_wrapped_below_their_values():
    lines = formatting.pairs([("name", "word " * 20)], width=40)
    assert all(len(line.rstrip()) <= 40 for line in lines)
    assert lines[1].startswith(" " * 15 + "word")


def test_sizes():
    assert [formatting.size(n) for n in (0, 1023, 1024, 5 << 20)] == [
        "0 B", "1023 B", "1.0 KiB", "5.0 MiB",
    ]  # fmt: skip


def test_the_first_compilation_is_told_once():
    numba = pytest.importorskip("numba")
    calls = []

    @numba.njit
    def first(x):
        return x + 1

    with on_first_compile(lambda: calls.append(1)):
        first(1)
        first(1.0)
    first(1j)
    assert calls == [1]
