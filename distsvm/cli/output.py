"""Everything that the command line writes goes through here."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from distsvm.cli.formatting import Style, clipped

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"

_CONTROL = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")


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
        self.stdout: TextIO = sys.stdout
        self.stderr: TextIO = sys.stderr
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
        """What is good to know: progress and summaries."""
        if not (self.json or self.quiet):
            self._write(self.stdout, lines)

    def show(self, *lines: str) -> None:
        """What was asked for, quiet or not."""
        if not self.json:
            self._write(self.stdout, lines)

    def record(self, event: str, data: dict[str, Any]) -> None:
        """One JSON object on a line of its own; numbers that JSON does not know become null."""
        if self.json:
            from distsvm.storage import (
                json_text,  # here, as it loads NumPy, which help does not need
            )

            self._write(self.stdout, [json_text({"event": event, **data}, default=_plain)])

    def data(self, text: str) -> None:
        """Lines of data, such as predictions, as they are."""
        self.stdout.write(text)

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
        self._write(self.stderr, [text.rstrip("\n")])

    def _write(self, stream: TextIO, lines: Sequence[str]) -> None:
        with self.screen.aside():
            stream.write("".join(f"{_harmless(line)}\n" for line in lines))
            stream.flush()


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
        fitting = [clipped(line, size.columns - 1) for line in lines[: max(1, size.lines - 1)]]
        with self._lock:
            start = HIDE_CURSOR if not self._shown else f"\x1b[{len(self._shown)}F"
            self._send(start + "".join(f"{line}\x1b[K\n" for line in fitting) + "\x1b[J")
            self._shown = fitting

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
        self._stream.write(text)
        self._stream.flush()


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

    def __init__(self, output: Output, translate: Callable[[str], str] = str) -> None:
        super().__init__()
        self._output, self._translate = output, translate

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self._translate(record.getMessage())
            if record.levelno >= logging.ERROR:
                self._output.error(text)
            elif record.levelno >= logging.WARNING:
                self._output.warning(text)
            else:
                self._output.raw_error(f"distsvm: {text}")
        except Exception:
            self.handleError(record)


def _harmless(line: str) -> str:
    """The line with control signs spelt out, but for colours: a model's labels may hold any."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", line)


def _is_utf8(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _one_line(text: str) -> str:
    return " ".join(part.strip() for part in text.splitlines() if part.strip())


def _plain(value: Any) -> Any:
    """What json does not know by itself: NumPy's numbers and arrays, and paths."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
