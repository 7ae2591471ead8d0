"""Model: a task and its w. It predicts and evaluates, and its files have no pickle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from itertools import islice
from math import ceil
from operator import add
from typing import Any

import numpy as np

from distsvm.blas import one_thread
from distsvm.data import Dataset, PairData, open_data, open_inputs
from distsvm.data.remembered import check_notes, recalled
from distsvm.data.shard import ShardSpec
from distsvm.data.words import Features, LineData, LineSpec, TextData, WordData, WordSpec
from distsvm.errors import DAMAGE, DataError, ModelError, StoreError
from distsvm.executors import make_executor
from distsvm.messages import Score
from distsvm.oracles.description import describe, rebuild
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.predictor import Predictor
from distsvm.oracles.structure import imported
from distsvm.oracles.task import Task
from distsvm.oracles.unseen import tell_unseen
from distsvm.registry import structure_of
from distsvm.storage import (
    MANIFEST,
    Place,
    Where,
    place,
    read_arrays,
    read_manifest,
    write_arrays,
    write_json,
    written_aside,
)
from distsvm.stores import StorePath
from distsvm.version import __version__
from distsvm.workers.shard_worker import ShardWorker

FORMAT = 1
ARRAYS = "arrays.npz"
TABLE_BYTES, PIECE_BYTES, PIECE_SENTENCES = 32 << 20, 1 << 20, 1 << 13


@dataclass(frozen=True, eq=False)
class Model:
    """The result of training: predictions argmax_ŷ ⟨w, Ψ(x, ŷ)⟩.

    Parameters
    ----------
    task : Task, prepared
    w : float64 array of shape (dim,)
    facts : dict
        Values of JSON about its training: certificate, C, eps; and in "data" how its files were
        read, to read other files alike.
    """

    task: Task
    w: np.ndarray
    facts: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        certificate = self.facts.get("certificate", "not certified")
        return f"Model of {type(self.task).__name__}, dim {self.task.dim}, {certificate}"

    def predict(self, data: Any, **options: Any) -> Any:
        """Return the predicted outputs: an array of labels for classes, else a list.

        Parameters
        ----------
        data : array of rows, list of inputs, path or paths, or a data set
            A str or a list of pathlib paths names files. A list of str names files for built-in
            tasks and holds inputs for tasks in Python; open_data(list) names files for all.
            Inputs may be sentences in words, [["El", "presidente"]], where a tagger was trained on
            files with templates, or a parser over words.
        **options
            executor, n_workers and executor_options as in train; others are for open_inputs, and
            are those of training for files unless given.
        """
        if not options and (found := self.predicted_here(data)) is not None:
            return found
        parts = list(self.predictions(data, **options))
        if parts and isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return [output for part in parts for output in part]

    def predicted_here(self, data: Any) -> Any:
        """Return predictions of inputs in memory without shards; None where shards are needed."""
        oracle = self.bound_here(data)
        return None if oracle is None else oracle.public(oracle.decode_all(self.view))

    def bound_here(self, data: Any) -> Oracle | None:
        """Return the oracle of inputs in memory, to be asked with `view`; None as above."""
        if self.predictor is None:
            return None
        oracle = self.predictor.bound(data)
        if oracle is not None or not self.are_words(data):
            return oracle
        inputs, features = self._inputs_of(data), self._word_features
        return None if features is None else self.predictor.bound_words(inputs, features)

    @cached_property
    def predictor(self) -> Predictor | None:
        """What predicts inputs in memory; None where the task has nothing but shards for it.

        It is made once, so w must not change from then on.
        """
        return self.task.predictor(self.w)

    @property
    def view(self) -> Any:
        """w as the predictor's oracles take it."""
        return None if self.predictor is None else self.predictor.view

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def predictions(self, data: Any, **options: Any) -> Iterator[Any]:
        """Yield the outputs of predict piece by piece, with little of the data in memory."""
        place = _place(options)
        if self.task.string_inputs and _holds_strings(data):
            data = PairData(data)
        inputs = self.inputs(data, **options)
        return self.over_pieces(ShardWorker.predict, self.pieces(inputs), **place)

    def evaluate(
        self, data: Any, outputs: Any = None, *, weight: Any = None, **options: Any
    ) -> Score:
        """Return the score on data with outputs; arguments as in train and predict."""
        place = _place(options)
        pieces = self.pieces(self.examples(data, outputs, weight=weight, **options))
        return reduce(add, self.over_pieces(ShardWorker.evaluate, pieces, **place))

    def inputs(self, data: Any, **options: Any) -> Dataset:
        """Return the data to predict on; without options, files are read as those of training.

        A list of str names files here for every task.
        """
        if self.are_words(data):
            return self.sentences(data)
        options = recalled(self.facts.get("data"), data, options, self.task.tables)
        opened = open_inputs(data, tables=self.task.tables, **options)
        if not isinstance(opened, TextData):
            return opened
        self.task.of_words(["word"])  # a task that does not take words is refused before reading
        return LineData(opened, self._word_features)

    def examples(
        self, data: Any, outputs: Any = None, *, weight: Any = None, **options: Any
    ) -> Dataset:
        """Return the data of `inputs` with outputs."""
        if outputs is None:
            options = recalled(self.facts.get("data"), data, options, self.task.tables)
        opened = open_data(data, outputs, weight, tables=self.task.tables, **options)
        if isinstance(opened, PairData) and weight is None and self.are_words(opened.inputs):
            return self.sentences(opened.inputs, opened.outputs)
        return opened

    def are_words(self, data: Any) -> bool:
        """Return whether these are sentences in words, of which the structure makes features."""
        return (
            isinstance(data, (list, tuple))
            and any(isinstance(x, (list, tuple)) and any(map(_is_text, x)) for x in data)
            and self._takes_words
        )

    @cached_property
    def _takes_words(self) -> bool:
        return structure_of(self.task).words is not None

    def sentences(
        self, sentences: Sequence[Sequence[str]], outputs: Sequence[Any] | None = None
    ) -> WordData:
        """Return data of sentences in words, to predict on, or with outputs to evaluate.

        Where the task needs features, they are made like those of the training files.
        """
        return WordData(self._inputs_of(sentences), outputs, self._word_features)

    def sentence_pieces(self, sentences: Iterable[Sequence[str]]) -> Iterator[ShardSpec]:
        """Yield pieces of sentences in words while the sentences arrive."""
        features, first, coming = self._word_features, 0, iter(sentences)
        while some := list(islice(coming, PIECE_SENTENCES)):
            yield WordSpec(self._inputs_of(some, first), None, first, features)
            first += len(some)
        if not first:
            raise DataError("the data has no examples")

    def _inputs_of(self, sentences: Iterable[Sequence[str]], first: int = 0) -> list[Sequence[str]]:
        """Return the task's inputs; `first` is the number of the first sentence."""
        inputs = []
        for number, sentence in enumerate(sentences, first):
            if not all(map(_is_text, sentence)):
                raise DataError(f"example {number}: some tokens are words, some are features")
            with _named(number):
                inputs.append(self.task.of_words(sentence))
        return inputs

    @cached_property
    def _word_features(self) -> Features | None:
        """Return the features of words; None where each sentence is an input."""
        words = structure_of(self.task).words
        return None if words is None else imported(words)(self.facts.get("data"))

    def pieces(self, data: Dataset) -> Sequence[ShardSpec]:
        """Return the data in pieces, few of which over_pieces has in memory at a time.

        Files are cut into pieces of about 32 MB, or 1 MB where examples are more than rows; and
        into smaller ones, as is data in memory, where the task maps rows to larger ones.
        """
        size = TABLE_BYTES if self.task.tables else PIECE_BYTES
        n_bytes = data.n_bytes
        if self.task.growth > 1:
            size = ceil(size / self.task.growth)
            n_bytes = getattr(data, "held_bytes", None) if n_bytes is None else n_bytes
        return data.specs(None if n_bytes is None else max(1, ceil(n_bytes / size)))

    def over_pieces(
        self,
        function: Callable[[ShardWorker, np.ndarray], Any],
        pieces: Iterable[ShardSpec],
        *,
        executor: str = "auto",
        n_workers: int | None = None,
        executor_options: dict[str, Any] | None = None,
    ) -> Iterator[Any]:
        """Yield function(worker, w) of each piece of the data, in order, on any executor.

        A warning after the last piece names the true labels that training did not see.
        """
        if isinstance(pieces, Sequence) and len(pieces) == 1:
            executor, n_workers, executor_options = "serial", None, None  # nothing to share out
        workers = make_executor(
            executor, n_workers, compiled=self.task.compiled, **executor_options or {}
        )
        unseen = []
        with workers, one_thread():
            for others, found in workers.map(_on_piece, pieces, function, self.task, self.w):
                unseen.append(others)
                yield found
        tell_unseen(unseen)

    def save(self, path: Where) -> None:
        """Write the model to a folder, by path or URI: manifest.json and arrays.npz.

        An earlier model there is replaced; a folder with anything else in it is refused.
        """
        check_target(path)
        data, arrays = describe(self.task)
        with written_aside(place(path)) as folder:
            named = {f"task.{name}": array for name, array in arrays.items()}
            digest = write_arrays(folder / ARRAYS, {"w": self.w, **named})
            write_json(
                folder / MANIFEST,
                {
                    "kind": "distsvm model",
                    "format": FORMAT,
                    "version": __version__,
                    "digest": digest,
                    **data,
                    "facts": self.facts,
                },
            )


def check_target(path: Where) -> None:
    """Refuse a path where a saved model would replace something else."""
    folder = place(path)
    if folder.is_dir() and (names := {inside.name for inside in folder.iterdir()}):
        if isinstance(folder, StorePath) and names == {ARRAYS}:
            return  # left by a process that was killed before the manifest
        try:
            read_manifest(folder / MANIFEST, "model", sys.maxsize, ModelError)
        except ModelError as error:
            raise ModelError(f"{folder} has something other than a model: {error}") from error
    elif folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file, expected a folder for the model")


def _folder_of(folder: Place) -> Place:
    """Return the folder itself, or that of the model of a run."""
    try:
        if not (folder / "run.json").exists():
            return folder
        if (folder / "model").exists():
            return folder / "model"
    except StoreError as error:
        raise ModelError(str(error)) from error
    raise ModelError(f"the run in {folder} has no model yet")


def load_model(path: Where, task: type[Task] | None = None) -> Model:
    """Return the model that was saved in a folder.

    Parameters
    ----------
    path : path or URI
        Of a model, or of a run, whose model is taken.
    task : class, optional
        The task's class, if it is not one of distsvm's own; its code is never taken from a file.
    """
    folder = _folder_of(place(path))
    manifest = read_manifest(folder / MANIFEST, "model", FORMAT, ModelError)
    facts = manifest.get("facts", {})
    try:
        arrays = read_arrays(folder / ARRAYS, ModelError, manifest["digest"])
        fields = {n.removeprefix("task."): a for n, a in arrays.items() if n.startswith("task.")}
        loaded = rebuild(manifest, fields, task)
        loaded.check_loaded()
        w = arrays["w"]
        if w.shape != (loaded.dim,):
            raise ModelError(f"{folder}: w has shape {w.shape}, the task has dim {loaded.dim}")
        if w.dtype != np.float64 or not np.isfinite(w).all():
            raise ModelError(f"{folder}: w is not of finite float64 values")
        check_notes(facts.get("data"))
        return Model(loaded, w, facts)
    except ModelError:
        raise
    except DAMAGE as error:
        shown = error if isinstance(error, ValueError) else repr(error)
        raise ModelError(f"{folder} is damaged: {shown}") from error


def _holds_strings(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(isinstance(item, str) for item in data)


def _is_text(token: Any) -> bool:
    return isinstance(token, str)


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Put the number of the example in front of errors of bad data."""
    try:
        yield
    except DataError as error:
        raise DataError(f"example {number}: {error}") from error


def _place(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of where to run out of all options."""
    names = ("executor", "n_workers", "executor_options")
    return {name: options.pop(name) for name in names if name in options}


def _on_piece(
    spec: ShardSpec, function: Callable[[ShardWorker, np.ndarray], Any], task: Task, w: np.ndarray
) -> tuple[Counter[str], Any]:
    if isinstance(spec, LineSpec):
        spec = replace(spec, of_words=task.of_words)
    worker = ShardWorker(spec)
    worker.check(task)
    unseen = worker.attach(task, keep_outputs=True)
    return unseen, function(worker, w)
