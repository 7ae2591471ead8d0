"""The options of sequence tagging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.cli.parts import Options
from distsvm.cli.small_files import read_text
from distsvm.errors import ConfigError
from distsvm.feature_maps.options import (
    check_named,
    low_rank_map,
    options_with_kernel,
    without_map,
)
from distsvm.kinds import Kind, Plain, Unfit, whole
from distsvm.options import declared, option
from distsvm.oracles.task import Task
from distsvm.structures.sequences.task import SequenceTask
from distsvm.wording import Message, message


class ColumnOrName(Plain):
    """The number of a column, or its name."""

    expected = Message("a whole number, or a name")

    def parse(self, text: str) -> int | str:
        try:
            return int(text)
        except ValueError:
            return text

    def from_toml(self, found: Any) -> int | str:
        if not isinstance(found, (int, str)) or isinstance(found, bool):
            raise TypeError
        return found


class TemplateText(Kind):
    """Templates, or @FILE with one a line."""

    def parse(self, text: str) -> str:
        if not text.startswith("@"):
            return text
        try:
            return read_text(text[1:])
        except (OSError, UnicodeDecodeError) as error:
            raise Unfit(message("the file cannot be read ({})", error)) from error


@dataclass
class SentenceOptions:
    """What ConllData and ConlluData take beside the paths."""

    tag: int | str = option(
        kind=ColumnOrName(), metavar="COLUMN", usual="-1; CoNLL-U: xpos",
        help="CoNLL: the column of the tag, from 0, or from the end if it is negative. CoNLL-U: "
        "its name, such as upos",
    )  # fmt: skip
    word: int = option(
        kind=whole(), metavar="COLUMN", of=("conll",), usual="0",
        help="CoNLL: the column of the word, from 0",
    )  # fmt: skip
    templates: str = option(
        kind=TemplateText(), metavar="TEXT", usual="default",
        help="CoNLL, CoNLL-U: the features of a token, such as 'word[-1..+1]; suffix(1..3)'; or "
        "default, or pos; or @FILE with one template a line (the language is described in "
        "distsvm/data/templates.py)",
    )  # fmt: skip
    hash_bits: int = option(kind=whole(), flag="", help="as the option of the task says")


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    check_named(given)
    made: dict[str, Any] = {"features": low_rank_map(given)} if "kernel" in given else {}
    task: Any = task_class(**without_map(given), **made)
    task.check_settings()
    if task.min_count > 1 and task.hash_bits is not None:
        raise ConfigError(
            message("{min_count} needs a dictionary of features, {hash_bits} makes none")
        )
    return task


OPTIONS = Options({**declared(SequenceTask), **options_with_kernel()}, make=make)
