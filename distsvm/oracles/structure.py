"""Structure: what the engine asks about one kind of output, by names that are imported when used.

Nothing here imports a task, an estimator or a reader: a worker and a loaded model need few of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OWN = "distsvm.structures.own"


def imported(reference: str) -> Any:
    """Return what 'module:Name' names, or the module that 'module' names."""
    module, _, name = reference.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def reference_of(cls: type) -> str:
    """Return the 'module:Name' of a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


@dataclass(frozen=True)
class FileFormat:
    """A format of files, as far as it is known before its reader is imported.

    Parameters
    ----------
    reader : str
        'module:Name' of a class that takes paths and options, and is a data set.
    endings : tuple of str
        Of the names of files that are of this format; all text files may also be packed.
    aliases : tuple of str
        More names for format=.
    values : str, optional
        The reader where inputs are never rows of features; `reader` without it.
    tables : bool, optional
        False: the endings mean this format only where inputs are never rows of features.
    packed : bool
        Whether a packed file (.gz, .bz2, .xz) can be of this format.
    labelled : bool
        Whether files have outputs; those of a format without them can only be predicted on.
    objects : bool
        Whether examples are Python values, which a task in plain Python takes as well.
    any_name : bool
        Whether files of any name are of this format where a task reads it before all others.
    features : tuple of str
        Options that decide what is read of an input: a model applies those of its training files
        also to files of another format that has them.
    layout : tuple of str
        Options that decide how a line is taken apart; another value than in training, and what was
        learnt of the training files no longer counts.
    learnt : tuple of str
        Options that a model gets of its training files; their reader has a method `learnt()` that
        returns them.
    filters : tuple of str
        Options that only choose the examples to train on: a model does not apply them.
    options : str, optional
        'module:Name' of a dataclass that declares options of the reader, of which flags are made.
        Formats may share one; an option of it that says no format is for all of these.
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

    What is left out is as for tasks that users write in plain Python.

    Parameters
    ----------
    name : str
    title : str
        What messages call its tasks, in the plural.
    tasks : mapping of str to str
        The task classes by the names that models and runs save; these never change.
    estimators : tuple of str
    others : tuple of str
        What else users import from the package.
    formats : mapping of str to FileFormat
        The formats of files that it brings.
    reads : tuple of str, optional
        The names of all formats that its tasks read, the first where nothing else decides. None:
        every format whose examples are Python values.
    options, predictions, scores, inspection : str
        What the command line asks: an object of each of the classes in distsvm.cli.parts.
    problems : str, optional
        A function for `distsvm warm-up`: of a task's saved name and a folder for files, it yields
        tasks, data and settings of training (None: the usual ones) that use every kernel.
    form : str
        The EstimatorForm of StructuralSVM for its tasks.
    words : str, optional
        A function of a model's notes on its files. It returns what makes a shard's inputs of its
        sentences in words, or raises a DataError. None: the task's of_words makes each input.
    shard_arrays : mapping of str to str
        Classes of inputs or outputs of a shard that can be kept as arrays, by the names that
        packed files have for them; see distsvm.data.shard_arrays.
    picture : str, optional
        A function of a model, which returns the title and the SVG of a picture of its w: the report
        of a run shows it.
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
