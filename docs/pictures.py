"""Draw the pictures of the README from real runs.

`terminal.svg` is what `distsvm demo` writes to a terminal: the live display in the middle of the
run, and the summary at its end. `report.png` is the report of the same run, as Chromium shows it.
Without Chromium only the first is drawn. Run it: python docs/pictures.py
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

HERE = Path(__file__).parent / "pictures"
COLUMNS, CHARACTER, LINE, MARGIN = 80, 8.4, 18, 16
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
OTHER_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]")
FRAME = re.compile(r"\x1b\[\?25l|\x1b\[\d+F")
SHOW_CURSOR = "\x1b[?25h"
COLOURS = {"31": "#f2777a", "32": "#7fd08a", "36": "#6cc7d9"}
TEXT, DIM, GROUND, BAR = "#e5e9ee", "#8b97a6", "#161b22", "#2b333d"
REPORT_SIZE = "1120,832"


def terminal_output(words: list[str], folder: str) -> str:
    """Return everything that a command writes to a terminal of COLUMNS columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "40", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # how Linux reports that the other side is closed
            pass
        os.close(ours)
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed with exit code {process.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def moments(output: str) -> tuple[list[str], list[str]]:
    """Return the live display half way to the gap, and the lines that stay at the end."""
    drawn, end = output.rsplit(SHOW_CURSOR, 1)
    frames = [OTHER_ESCAPES.sub("", frame) for frame in FRAME.split(drawn)]
    with_bounds = [frame.strip("\n").split("\n") for frame in frames if "primal" in frame]
    return with_bounds[len(with_bounds) // 2], OTHER_ESCAPES.sub("", end).strip("\n").split("\n")


def spans(line: str) -> str:
    """Return a line as SVG text with its colours and weights."""
    parts, look = [], ""
    for i, piece in enumerate(STYLE.split(line)):
        if i % 2 == 0:
            parts.append(f"<tspan{look}>{fixed(piece)}</tspan>" if piece else "")
        elif piece in COLOURS:
            look = f' fill="{COLOURS[piece]}"'
        else:
            look = {"1": ' font-weight="700"', "2": f' fill="{DIM}"'}.get(piece, "")
    return "".join(parts)


def fixed(text: str) -> str:
    """Return escaped text in which no viewer of SVG joins blanks."""
    return escape(text).replace(" ", "\N{NO-BREAK SPACE}")


def terminal_svg(lines: list[str | None]) -> str:
    """Return the picture of a terminal with these lines; None is a rule across it."""
    width = COLUMNS * CHARACTER + 2 * MARGIN
    height = (len(lines) + 0.5) * LINE + 2 * MARGIN
    drawn = []
    for row, line in enumerate(lines):
        y = MARGIN + (row + 0.8) * LINE
        if line is None:
            drawn.append(f'<path d="M{MARGIN} {y - 5:.0f}H{width - MARGIN:.0f}" stroke="{BAR}"/>')
        elif line:
            drawn.append(f'<text x="{MARGIN}" y="{y:.0f}">{spans(line)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="distsvm demo in a terminal">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>\n'
        f'<g fill="{TEXT}" font-size="14" font-family="ui-monospace,'
        "SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n"
        + "\n".join(drawn)
        + "\n</g></svg>\n"
    )


def draw_terminal(folder: str) -> None:
    words = [sys.executable, "-m", "distsvm.cli", "demo"]
    terminal_output(words, folder)  # compiles the kernels, which the picture shall not show
    display, end = moments(terminal_output([*words, "--keep", "digits"], folder))
    end = end[: next(i for i, line in enumerate(end) if "LinearSVC" in line) + 1]
    picture = terminal_svg(["$ distsvm demo --keep digits", "", *display, "", None, *end])
    (HERE / "terminal.svg").write_text(picture, encoding="utf-8")


def draw_report(folder: str) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("there is no chromium: the picture of the report stays as it is")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    target, page = HERE / "report.png", Path(folder, "digits", "report.html").as_uri()
    subprocess.run(
        [browser, "--headless", *as_root, "--hide-scrollbars", f"--window-size={REPORT_SIZE}",
         f"--screenshot={target}", page],
        check=True, capture_output=True,
    )  # fmt: skip


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        draw_terminal(home)
        draw_report(home)
