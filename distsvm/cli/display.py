"""The display of a training run: progress, compiling, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from types import FrameType
from typing import Any, TypeVar

from distsvm.cli.output import Output, Redrawn
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
) -> tuple[Result, bool]:
    """Run `call(callbacks)`, which trains once or several times, with its progress shown.

    `doing` describes the time before the first round. `run_dir` and `task` (the value of --task)
    are for the advice on how to resume.

    The first Ctrl-C ends the run after the current round, as "interrupted". Before the first
    round, and at the second Ctrl-C, KeyboardInterrupt is raised at once.

    Returns
    -------
    result : what the call returned
    compiled : bool
        Whether this process compiled kernels meanwhile.
    """
    progress = Progress(title, doing, max_seconds=max_seconds)
    display = _display(output, progress)
    interrupts = Interrupts(display.on_interrupt)
    shown = display if isinstance(display, Live) else nullcontext()
    try:
        with shown, on_first_compile(display.on_compile), interrupts:
            return call([display, interrupts]), display.compiled
    except KeyboardInterrupt:
        if run_dir is not None and display.progress.record is not None:
            again = command("resume", run_dir, *own_task(task))
            output.note(f"go on from the last checkpoint: {again}")
        raise


def _display(output: Output, progress: Progress) -> Display:
    if output.json:
        return JsonLines(output, progress)
    if output.quiet:
        return Quiet(output, progress)
    return Live(output, progress) if output.live else PlainLines(output, progress)


class Interrupts(Callback):
    """Ends the run after the round at the first Ctrl-C; raises KeyboardInterrupt at the second.

    SIGTERM, which clusters send, counts as Ctrl-C. So does SIGHUP, which is sent when a terminal
    closes, unless it is ignored, as under nohup.
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
        self._listen()  # again, because Ray replaces the handler of SIGTERM when it starts

    def on_round(self, record: Round) -> bool:
        return self._asked

    def _listen(self) -> None:
        # Python allows handlers in the main thread only; other threads leave Ctrl-C as it is.
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
    """Records a run's progress and shows nothing; subclasses show it."""

    says_stopping = True
    """Whether Ctrl-C needs a line of its own on standard error."""

    def __init__(self, output: Output, progress: Progress) -> None:
        self.output, self.progress = output, progress
        self.compiled = False
        self._title = progress.title
        self._began = time.perf_counter()

    def on_step(self, step: PathStep) -> None:
        # A new object, because another thread may be reading the last one.
        self.progress = Progress(
            f"{self._title} · {step_words(step)}", "first round",
            max_seconds=self.progress.max_seconds, stopping=self.progress.stopping,
        )  # fmt: skip
        self._began = time.perf_counter()

    def on_start(self, start: RunStart) -> None:
        self.progress.began(start)

    def on_round(self, record: Round) -> None:
        self.progress.add(record)
        # elapsed_s of a resumed run includes its earlier sessions.
        self.progress.earlier_s = record.elapsed_s - self.session_s

    @property
    def session_s(self) -> float:
        return time.perf_counter() - self._began

    def on_compile(self) -> None:
        """Record that a kernel is compiled; any thread may call this."""
        self.compiled = self.progress.compiling = True

    def on_interrupt(self) -> None:
        """Record Ctrl-C and confirm it; the signal handler calls this."""
        self.progress.stopping = True
        if self.says_stopping:
            # Unbuffered, because the signal may have interrupted a write to the buffer.
            with suppress(OSError):  # standard error may be closed
                os.write(2, f"distsvm: {STOPPING}\n".encode())


class Quiet(Display):
    says_stopping = False


class JsonLines(Display):
    """One JSON object for the start and for each round; in a path, one for each value of C."""

    _in_path = False

    def on_step(self, step: PathStep) -> None:
        self._in_path = True

    def on_start(self, start: RunStart) -> None:
        if not self._in_path:
            self.output.record("start", asdict(start))

    def on_round(self, record: Round) -> None:
        if not self._in_path:
            self.output.record("round", record.as_dict())

    def on_point(self, step: PathStep, point: PathPoint) -> None:
        self.output.record("point", asdict(step) | point.as_dict())


class PlainLines(Display):
    """Lines for logs and pipes: the first round, then at most one a second."""

    _last_s = -PLAIN_S
    _step = ""

    def __init__(self, output: Output, progress: Progress) -> None:
        super().__init__(output, progress)
        output.say(f"{progress.title}: {progress.doing}")

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


class Live(Display, Redrawn):
    """Lines at the bottom of the terminal."""

    says_stopping = False
    _n_drawn = 0

    def lines(self) -> list[str]:
        output = self.output
        frames = SPINNER if output.unicode else "|/-\\"
        spinner = output.style.accent(frames[self._n_drawn % len(frames)])
        self._n_drawn += 1
        return render(
            self.progress, self.session_s, output.width, output.style,
            unicode=output.unicode, spinner=spinner,
        )  # fmt: skip
