"""CoNLL-U files: the treebanks of Universal Dependencies."""

from __future__ import annotations

from distsvm.data.files import Paths, find_files
from distsvm.data.templates import DEFAULT, Templates, as_templates
from distsvm.errors import ConfigError
from distsvm.structures.sequences.readers.column_lines import Columns
from distsvm.structures.sequences.readers.conll import ColumnData, check_features
from distsvm.wording import message

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class ConlluData(ColumnData):
    """Sentences in CoNLL-U files, whose words are the column form.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    tag : str or None, default "xpos"
        The column of the tag: upos, xpos, or any other. None: tags are not read.
    templates : Templates or str, default DEFAULT
        The features of a token; see distsvm.data.templates. `column(2)` is the lemma, `column(3)`
        upos, and so on.
    hash_bits : int, optional
        Features are hashed to 2^hash_bits columns rather than kept in a dictionary.

    Notes
    -----
    Comments, ranges such as 1-2 (words that are written as one) and empty nodes such as 1.1 are
    no tokens. `_` is a tag like any other, unless there is no other. Lines without ten columns,
    numbers that are none, sentences without words, bytes that are not UTF-8 and files without
    sentences are refused with file and line.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        tag: str | None = "xpos",
        templates: Templates | str = DEFAULT,
        hash_bits: int | None = None,
    ) -> None:
        if tag is not None and tag not in COLUMNS:
            raise ConfigError("tag", tag, f"None or one of {', '.join(COLUMNS)}")
        word, tag_column = COLUMNS.index("form"), None if tag is None else COLUMNS.index(tag)
        templates = as_templates(templates)
        check_features(templates, word, tag_column, hash_bits)
        beyond = [column for column in templates.columns if column >= len(COLUMNS)]
        if beyond:
            raise ConfigError(
                message("{templates}: column({}), expected 0 to {}", beyond[0], len(COLUMNS) - 1)
            )
        columns = Columns(word, tag_column, b"\t", b"#", numbered=True)
        super().__init__(find_files(paths), columns, templates, hash_bits)
