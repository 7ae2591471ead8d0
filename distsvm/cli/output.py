"""All output of the command line: text, JSON, warnings, and lines drawn again in place."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

from distsvm.cli.formatting import Style, clipped, rendered
from distsvm.cli.signs import INSIDE_LINES, spelt
from distsvm.cli.words import SHELL
from distsvm.wording import Message

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
REDRAW_S = 0.1

Self = TypeVar("Self", bound="Redrawn")


class Output:
    """Text or JSON on standard output; warnings and errors on standard error.

    Parameters
    ----------
    json : bool
        Write one JSON object a line on standard output, and no text.
    quiet : bool
        Write no progress and no summaries.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json, self.quiet = json, quiet
        # Read now, not at import: the caller of main() may have replaced them.
        self.stdout: TextIO = sys.stdout or _nowhere()
        self.stderr: TextIO = sys.stderr or _nowhere()
        for stream in (self.stdout, self.stderr):
            if hasattr(stream, "reconfigure") and not _is_utf8(stream):
                stream.reconfigure(errors="replace")
        terminal = self.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.live = terminal and not (json or quiet)
        self.unicode = _is_utf8(self.stdout)
        self.style = Style(terminal and not json and "NO_COLOR" not in os.environ)
        self.screen = Screen(self.stdout)

    @property
    def width(self) -> int:
        """Columns for a line: one less than the terminal has, so that none wraps."""
        return max(20, shutil.get_terminal_size((80, 24)).columns - 1)

    def say(self, *lines: str) -> None:
        """Write progress or a summary; a closed pipe is no error."""
        if not (self.json or self.quiet):
            self._write(self.stdout, lines)

    def show(self, *lines: str) -> None:
        """Write the result of the verb, quiet or not; a closed pipe raises BrokenPipeError."""
        if not self.json:
            self._write(self.stdout, lines, needed=True)

    def record(self, event: str, data: dict[str, Any]) -> None:
        """Write one JSON object on a line of its own; inf and nan become null."""
        if self.json:
            from distsvm.storage import json_text  # loads NumPy, which help does not need

            self._write(self.stdout, [json_text({"event": event, **data}, default=_plain)])

    def data(self, text: str) -> None:
        """Write lines of data, such as predictions and logs of jobs; spell out control signs."""
        self.stdout.write(spelt(text, INSIDE_LINES))

    def note(self, text: str) -> None:
        """Write a line on standard error that is neither warning nor error."""
        if not self.quiet:
            self._write(self.stderr, [f"distsvm: {text}"])

    def warning(self, text: str) -> None:
        self._write(self.stderr, [f"distsvm: warning: {_one_line(text)}"])

    def error(self, text: str) -> None:
        self._write(self.stderr, [f"distsvm: error: {_one_line(text)}"])

    def raw_error(self, text: str) -> None:
        """Write text such as a traceback on standard error."""
        self._write(self.stderr, text.rstrip("\n").split("\n"))

    def _write(self, stream: TextIO, lines: Sequence[str], needed: bool = False) -> None:
        with self.screen.aside():
            send(stream, "".join(f"{rendered(line)}\n" for line in lines), needed)


def _nowhere() -> TextIO:
    """Return a replacement for a stream that was closed before the program began."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def send(stream: TextIO, text: str, needed: bool = False) -> None:
    """Write and flush. A closed pipe raises if the text is `needed`; else it is ignored."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        if needed:
            raise
        swallow(stream)


def swallow(stream: TextIO) -> None:
    """Redirect a stream to the null device; else the interpreter fails to flush it at exit."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Screen:
    """A few lines at the bottom of a terminal that are drawn again in place, by any thread.

    All other text is written above them, inside `aside`.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._shown: list[str] = []

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the last lines by these in one write, so that none flickers."""
        size = shutil.get_terminal_size((80, 24))
        shown = [spelt(line) for line in lines[: max(1, size.lines - 1)]]
        fitting = [rendered(clipped(line, size.columns - 1)) for line in shown]
        with self._lock:
            start = HIDE_CURSOR if not self._shown else f"\x1b[{len(self._shown)}F"
            self._send(start + "".join(f"{line}\x1b[K\n" for line in fitting) + "\x1b[J")
            self._shown = shown

    def clear(self) -> None:
        """Remove the lines and show the cursor."""
        with self._lock:
            if self._shown:
                self._send(f"\x1b[{len(self._shown)}F\x1b[J{SHOW_CURSOR}")
                self._shown = []

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Clear the lines, and draw them again at the end."""
        with self._lock:
            lines = self._shown
            self.clear()
            try:
                yield
            finally:
                if lines:
                    self.draw(lines)

    def _send(self, text: str) -> None:
        send(self._stream, text)


class Redrawn:
    """Lines of the screen that a thread draws ten times a second while a `with` block runs.

    The time shown advances during long rounds, and training never waits for the terminal.
    """

    output: Output

    def __enter__(self: Self) -> Self:
        self._end = threading.Event()
        self._draw()
        self._thread = threading.Thread(target=self._redraw, name="distsvm-progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._draw()  # a short run may have ended between two drawings
        self.output.screen.clear()

    def lines(self) -> list[str]:
        """Return the lines as they are now."""
        raise NotImplementedError

    def _redraw(self) -> None:
        while not self._end.wait(REDRAW_S):
            self._draw()

    def _draw(self) -> None:
        self.output.screen.draw(self.lines())


class LogLines(logging.Handler):
    """A log handler that writes records through an Output."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        try:
            logged: object = record.msg
            text = logged.worded(SHELL) if isinstance(logged, Message) else record.getMessage()
            if record.levelno >= logging.ERROR:
                self._output.error(text)
            elif record.levelno >= logging.WARNING:
                self._output.warning(text)
            else:
                self._output.raw_error(f"distsvm: {text}")
        except Exception:
            self.handleError(record)


def _is_utf8(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _one_line(text: str) -> str:
    return " ".join(part.strip() for part in text.splitlines() if part.strip())


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays, and paths, as values that JSON has."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
