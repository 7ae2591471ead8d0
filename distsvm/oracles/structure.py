"""Structure: the parts of one kind of output, by names that are imported at their first use.

This module imports no task, estimator or reader, because a worker and a loaded model need few.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OWN = "distsvm.structures.own"


def imported(reference: str) -> Any:
    """Return the object of 'module:Name', or the module of 'module'."""
    module, _, name = reference.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def reference_of(cls: type) -> str:
    """Return the 'module:Name' of a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


@dataclass(frozen=True)
class FileFormat:
    """A format of files, without the import of its reader.

    Parameters
    ----------
    reader : str
        'module:Name' of a class of data sets, whose arguments are paths and options.
    endings : tuple of str
        Endings of the names of files of this format; all text files may also be compressed.
    aliases : tuple of str
        More names for format=.
    values : str, optional
        The reader where inputs are never rows of features; `reader` without it.
    tables : bool, optional
        False: the endings mean this format only where inputs are never rows of features.
    packed : bool
        Whether a compressed file (.gz, .bz2, .xz) can be of this format.
    labelled : bool
        Whether files have outputs; files without them serve only predictions.
    objects : bool
        Whether examples are Python values, so that tasks in plain Python can use them.
    any_name : bool
        Whether files with any ending are of this format, for tasks that prefer it.
    features : tuple of str
        Options that select the features of an input: a model applies those of its training files
        also to files of another format that has them.
    layout : tuple of str
        Options that define the parts of a line. If one differs from training, the options that
        were learnt from the training files no longer apply.
    learnt : tuple of str
        Options that a model learns from its training files; the reader's method `learnt()` returns
        them.
    filters : tuple of str
        Options that only select examples for training; a model does not apply them.
    options : str, optional
        'module:Name' of a dataclass that declares options of the reader, which become flags.
        Formats may share one; an option that names no format is for all of these.
    """

    reader: str
    endings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    values: str | None = None
    tables: bool | None = None
    packed: bool = True
    labelled: bool = True
    objects: bool = False
    any_name: bool = False
    features: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    learnt: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    options: str | None = None


@dataclass(frozen=True, eq=False)
class Structure:
    """One kind of output, such as classes, sequences or trees: its parts as 'module:Name'.

    The defaults are the parts for tasks that users write in plain Python.

    Parameters
    ----------
    name : str
    title : str
        Its tasks in messages, in the plural.
    tasks : mapping of str to str
        The task classes by the names that models and runs save; these never change.
    estimators : tuple of str
    others : tuple of str
        Other public names of the package.
    formats : mapping of str to FileFormat
        The formats of files that it adds.
    reads : tuple of str, optional
        The names of all formats that its tasks read; the first is the default. None: every format
        whose examples are Python values.
    options, predictions, scores, inspection : str
        Parts of the command line: an object of each of the classes in distsvm.cli.parts.
    problems : str, optional
        A function for `distsvm warm-up`: from a task's saved name and a folder for files, it yields
        tasks, data and settings of training (None: the defaults) that use every kernel.
    form : str
        The EstimatorForm of StructuralSVM for its tasks.
    words : str, optional
        A function of a model's notes on its files. It returns a function from sentences in words to
        a shard's inputs, or raises a DataError. None: the task's `of_words` makes each input.
    shard_arrays : mapping of str to str
        Classes of a shard's inputs or outputs that have a form of arrays, by their names in packed
        files; see distsvm.data.shard_arrays.
    picture : str, optional
        A function of a model, which returns the title and the SVG of a picture of its w for the
        report of a run.
    labels : tuple of str
        Fields of its tasks whose arrays are labels, which a report shows.
    """

    name: str
    title: str
    tasks: Mapping[str, str] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    formats: Mapping[str, FileFormat] = field(default_factory=dict)
    reads: tuple[str, ...] | None = None
    options: str = f"{OWN}.options:OPTIONS"
    predictions: str = f"{OWN}.predictions:PREDICTIONS"
    scores: str = f"{OWN}.scores:SCORES"
    inspection: str = f"{OWN}.inspection:INSPECTION"
    problems: str | None = None
    form: str = "distsvm.estimators.form:EstimatorForm"
    words: str | None = None
    shard_arrays: Mapping[str, str] = field(default_factory=dict)
    picture: str | None = None
    labels: tuple[str, ...] = ()
