"""Everything that the command line writes goes through here."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from distsvm.cli.formatting import Style, clipped, rendered
from distsvm.cli.signs import INSIDE_LINES, spelt
from distsvm.cli.words import SHELL
from distsvm.wording import Message

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Output:
    """Text for people or JSON for machines on standard output; warnings and errors beside it.

    Parameters
    ----------
    json : bool
        One JSON object a line on standard output, and no text.
    quiet : bool
        No progress and no summaries.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json, self.quiet = json, quiet
        # Taken now, not at import: whoever calls main() may have replaced them.
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
        """The columns that a line may take; one is left free, so that no terminal wraps."""
        return max(20, shutil.get_terminal_size((80, 24)).columns - 1)

    def say(self, *lines: str) -> None:
        """What is good to know: progress and summaries. A run goes on where no one reads them."""
        if not (self.json or self.quiet):
            self._write(self.stdout, lines)

    def show(self, *lines: str) -> None:
        """What was asked for, quiet or not; a BrokenPipeError where no one reads it any more."""
        if not self.json:
            self._write(self.stdout, lines, needed=True)

    def record(self, event: str, data: dict[str, Any]) -> None:
        """One JSON object on a line of its own; numbers that JSON does not know become null."""
        if self.json:
            from distsvm.storage import (
                json_text,  # here, as it loads NumPy, which help does not need
            )

            self._write(self.stdout, [json_text({"event": event, **data}, default=_plain)])

    def data(self, text: str) -> None:
        """Lines of data, such as predictions and logs of jobs; no sign steers the terminal."""
        self.stdout.write(spelt(text, INSIDE_LINES))

    def note(self, text: str) -> None:
        """One line on standard error that is neither warning nor error."""
        if not self.quiet:
            self._write(self.stderr, [f"distsvm: {text}"])

    def warning(self, text: str) -> None:
        self._write(self.stderr, [f"distsvm: warning: {_one_line(text)}"])

    def error(self, text: str) -> None:
        self._write(self.stderr, [f"distsvm: error: {_one_line(text)}"])

    def raw_error(self, text: str) -> None:
        """Text such as a traceback, on standard error."""
        self._write(self.stderr, text.rstrip("\n").split("\n"))

    def _write(self, stream: TextIO, lines: Sequence[str], needed: bool = False) -> None:
        with self.screen.aside():
            send(stream, "".join(f"{rendered(line)}\n" for line in lines), needed)


def _nowhere() -> TextIO:
    """In the place of a stream that was closed before the program began."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def send(stream: TextIO, text: str, needed: bool = False) -> None:
    """Write at once; a stream that takes nothing more, as a closed pipe, swallows all from then on.

    What is `needed` raises instead.
    """
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        if needed:
            raise
        swallow(stream)


def swallow(stream: TextIO) -> None:
    """Send to nowhere what the stream holds and will be given; else the interpreter ends badly."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Screen:
    """A few lines at the bottom of a terminal that are drawn again in place.

    Whatever else is written goes above them, inside `aside`. Any thread may draw.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._shown: list[str] = []

    def draw(self, lines: Sequence[str]) -> None:
        """Put these lines in the place of the last ones, in one write, so that none flickers."""
        size = shutil.get_terminal_size((80, 24))
        shown = [spelt(line) for line in lines[: max(1, size.lines - 1)]]
        fitting = [rendered(clipped(line, size.columns - 1)) for line in shown]
        with self._lock:
            start = HIDE_CURSOR if not self._shown else f"\x1b[{len(self._shown)}F"
            self._send(start + "".join(f"{line}\x1b[K\n" for line in fitting) + "\x1b[J")
            self._shown = shown

    def clear(self) -> None:
        """Take the lines away and give the cursor back."""
        with self._lock:
            if self._shown:
                self._send(f"\x1b[{len(self._shown)}F\x1b[J{SHOW_CURSOR}")
                self._shown = []

    def aside(self) -> _Aside:
        """A context in which others may write above the lines."""
        return _Aside(self)

    def _send(self, text: str) -> None:
        send(self._stream, text)


class _Aside:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lines: list[str] = []

    def __enter__(self) -> None:
        self._screen._lock.acquire()
        self._lines = self._screen._shown
        self._screen.clear()

    def __exit__(self, *_: object) -> None:
        if self._lines:
            self._screen.draw(self._lines)
        self._screen._lock.release()


class LogLines(logging.Handler):
    """The library's log as lines of the command line."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        try:
            said: object = record.msg
            text = said.worded(SHELL) if isinstance(said, Message) else record.getMessage()
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
    """What json does not know by itself: NumPy's numbers and arrays, and paths."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
