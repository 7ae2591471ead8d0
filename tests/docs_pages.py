"""The pages of the documentation as blocks of code, with what they claim to print."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "cluster" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
FENCE = re.compile(r"\s*```(\w*)\s*$")
MARKER = re.compile(r"<!-- (not run|parsed only|file|quoted): (.+?) -->")


@dataclass
class Block:
    """A fenced block.

    Parameters
    ----------
    language : str
        What stands behind the fence: python, sh, toml, text, or nothing.
    line : int
        Of the opening fence, from 1.
    markers : dict
        Of the comment above: "not run" or "parsed only" with the reason, "file" with a name,
        or "quoted" with the path of the file whose text it is.
    output : str or None
        The text block that follows at once: what the block prints.
    """

    language: str
    line: int
    markers: dict[str, str]
    text: str = ""
    output: str | None = None
    expected: list[str] = field(default_factory=list)

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command of a shell block."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page in their order; outputs belong to the block before them."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    inside: list[str] | None = None
    above, end = "", -1
    for number, line in enumerate(lines, start=1):
        fence = FENCE.match(line)
        if inside is None and fence:
            block = Block(fence[1], number, dict(MARKER.findall(above)))
            inside = []
        elif inside is not None and fence:
            block.text = "".join(f"{one}\n" for one in inside)
            if block.language == "text" and end == block.line - 1 and not block.markers:
                found[-1].output = block.text
            else:
                found.append(block)
            inside, end = None, number
        elif inside is not None:
            inside.append(line)
        above = line
    assert inside is None, f"{page}: a block without end"
    return found


def shape(text: str) -> str:
    """The text without what differs from run to run: numbers, times, sizes, widths of columns."""
    text = re.sub(r"\d+(:\d\d)+|\d[\d.,]* m?s\b", "TIME", text)
    text = re.sub(r"\d[\d.,]* (B|[KMGT]iB)\b", "SIZE", text)
    text = re.sub(r"-?\d[\d,]*(\.\d+)?(e[+-]?\d+)?", "#", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())
