"""One training run as the user sees it: progress, compiling, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from types import FrameType
from typing import Any, TypeVar

from distsvm.cli.output import Output
from distsvm.cli.progress import (
    COMPILING,
    STOPPING,
    Progress,
    plain_line,
    render,
    start_line,
    step_words,
)
from distsvm.kernels.compiling import on_first_compile
from distsvm.solvers.round import Round
from distsvm.training.advice import command, own_task
from distsvm.training.callbacks import Callback, PathStep, RunStart
from distsvm.training.path_result import PathPoint

Result = TypeVar("Result")

REDRAW_S = 0.1
PLAIN_S = 1.0
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def watched(
    output: Output,
    title: str,
    call: Callable[[Sequence[Callback]], Result],
    *,
    doing: str = "loading and scanning the data",
    max_seconds: float | None = None,
    run_dir: str | None = None,
    task: str | None = None,
    json_lines: type[Display] | None = None,
) -> tuple[Result, bool]:
    """Run `call(callbacks)`, a training run or several, with progress shown and Ctrl-C obeyed.

    `doing` is what happens before the first round, and `task` what --task was, for advice;
    `json_lines` takes the place of JsonLines.

    The first Ctrl-C ends the run after the current round, as "interrupted"; before the first
    round, and at the second Ctrl-C, KeyboardInterrupt is raised at once.

    Returns
    -------
    result : what the call returned
    compiled : bool
        Whether kernels had to be compiled meanwhile, in this process.
    """
    progress = Progress(title, doing, max_seconds=max_seconds)
    display = _display(output, progress, json_lines or JsonLines)
    interrupts = Interrupts(display.on_interrupt)
    try:
        with display, on_first_compile(display.on_compile), interrupts:
            return call([display, interrupts]), display.compiled
    except KeyboardInterrupt:
        if run_dir is not None and display.progress.record is not None:
            again = command("resume", run_dir, *own_task(task))
            output.note(f"go on from the last checkpoint: {again}")
        raise


def _display(output: Output, progress: Progress, json_lines: type[Display]) -> Display:
    if output.json:
        return json_lines(output, progress)
    if output.quiet:
        return Display(output, progress)
    return Live(output, progress) if output.live else PlainLines(output, progress)


class Interrupts(Callback):
    """Turns the first Ctrl-C into a wish to end after the round, the second into an interrupt.

    SIGTERM, by which clusters end what they run, is taken for a Ctrl-C. So is SIGHUP, by which a
    terminal says that it is gone, unless it is ignored, as under nohup.
    """

    def __init__(self, on_first: Callable[[], None]) -> None:
        self._on_first = on_first
        self._running = self._asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_start(self, start: RunStart) -> None:
        self._running = True
        self._listen()  # once more: Ray, when it is started, takes SIGTERM for itself

    def on_round(self, record: Round) -> bool:
        return self._asked

    def _listen(self) -> None:
        # Python lets only the main thread have handlers; elsewhere Ctrl-C stays as it is.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue
                self._before.setdefault(number, signal.signal(number, self._handle))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked or not self._running:
            raise KeyboardInterrupt
        self._asked = True
        self._on_first()


class Display(Callback):
    """Shows nothing; the others show what it keeps."""

    def __init__(self, output: Output, progress: Progress) -> None:
        self.output, self.progress = output, progress
        self.compiled = False
        self._title = progress.title
        self._began = time.perf_counter()

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def on_step(self, step: PathStep) -> None:
        # A new one, since another thread may be reading the last.
        self.progress = Progress(
            f"{self._title} · {step_words(step)}", "first round",
            max_seconds=self.progress.max_seconds, stopping=self.progress.stopping,
        )  # fmt: skip
        self._began = time.perf_counter()

    def on_start(self, start: RunStart) -> None:
        self.progress.began(start)

    def on_round(self, record: Round) -> None:
        self.progress.add(record)
        # A resumed run counts the time of its earlier sessions.
        self.progress.earlier_s = record.elapsed_s - self.session_s

    @property
    def session_s(self) -> float:
        return time.perf_counter() - self._began

    def on_compile(self) -> None:
        """A kernel is compiled; called by any thread."""
        self.compiled = self.progress.compiling = True

    def on_interrupt(self) -> None:
        """Ctrl-C; called by the signal handler, which may have come amidst a write of ours."""
        self.progress.stopping = True


class JsonLines(Display):
    """One JSON object for the start and one for each round."""

    def on_start(self, start: RunStart) -> None:
        self.output.record("start", asdict(start))

    def on_round(self, record: Round) -> None:
        self.output.record("round", record.as_dict())

    def on_interrupt(self) -> None:
        super().on_interrupt()
        _say_stopping()


class JsonPoints(Display):
    """One JSON object for each run of a path."""

    def on_point(self, step: PathStep, point: PathPoint) -> None:
        self.output.record("point", asdict(step) | point.as_dict())

    def on_interrupt(self) -> None:
        super().on_interrupt()
        _say_stopping()


class PlainLines(Display):
    """Lines for logs and pipes: the first round, then at most one a second."""

    _last_s = -PLAIN_S

    def __enter__(self) -> PlainLines:
        self.output.say(f"{self.progress.title}: {self.progress.doing}")
        return self

    _step = ""

    def on_step(self, step: PathStep) -> None:
        super().on_step(step)
        self._step = f"{step_words(step)}: "

    def on_start(self, start: RunStart) -> None:
        super().on_start(start)
        self.output.say(self._step + start_line(start))

    def on_round(self, record: Round) -> None:
        super().on_round(record)
        now = time.perf_counter()
        if now - self._last_s >= PLAIN_S:
            self._last_s = now
            self.output.say(plain_line(self.progress, self.session_s))

    def on_compile(self) -> None:
        super().on_compile()
        self.output.say(COMPILING)

    def on_interrupt(self) -> None:
        super().on_interrupt()
        _say_stopping()


def _say_stopping() -> None:
    # Not through a buffer, which the interrupted code may be writing to.
    with suppress(OSError):  # whoever read it is gone
        os.write(2, f"distsvm: {STOPPING}\n".encode())


class Live(Display):
    """Lines at the bottom of the terminal, drawn again by a thread of its own.

    So that time goes on during long rounds, and rounds never wait for the terminal.
    """

    def __enter__(self) -> Live:
        self._n_drawn = 0
        self._end = threading.Event()
        self._draw()
        self._thread = threading.Thread(target=self._redraw, name="distsvm-progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.output.screen.clear()

    def _redraw(self) -> None:
        while not self._end.wait(REDRAW_S):
            self._draw()

    def _draw(self) -> None:
        output = self.output
        frames = SPINNER if output.unicode else "|/-\\"
        spinner = output.style.accent(frames[self._n_drawn % len(frames)])
        self._n_drawn += 1
        lines = render(
            self.progress, self.session_s, output.width, output.style,
            unicode=output.unicode, spinner=spinner,
        )  # fmt: skip
        output.screen.draw(lines)
