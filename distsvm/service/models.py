"""Models by name and version, loaded once, and one call of their kernels for many requests."""

from __future__ import annotations

import io
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distsvm.errors import DistSVMError, ModelError
from distsvm.model import Model, load_model
from distsvm.oracles.structure import imported
from distsvm.oracles.task import Task
from distsvm.registry import structure_of
from distsvm.service.parts import Answers
from distsvm.service.requests import NAME
from distsvm.service.runs import Missing
from distsvm.storage import MANIFEST, read_manifest

MOST_LOADED = 16
MOST_WAITING = 4096
"""Inputs of one call: more wait for the next."""


@dataclass(frozen=True)
class Named:
    """A model that can be asked: its folder and its version, the digest of its arrays."""

    name: str
    version: str
    folder: Path
    task: str
    facts: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        kept = {key: self.facts.get(key) for key in ("certificate", "C", "eps", "rel_gap")}
        return {"name": self.name, "version": self.version, "task": self.task, **kept}


@dataclass(eq=False)
class Question:
    """Inputs of one request that waits."""

    inputs: list[Any]
    answer: Future[list[Any]] = field(default_factory=Future)


class Asked:
    """A loaded model and the requests that wait for it: one call of its kernels serves all."""

    def __init__(self, named: Named, model: Model) -> None:
        self.named, self.model = named, model
        self.answers: Answers = imported(structure_of(model.task).answers)
        self.n_calls = self.n_inputs = 0
        self._waiting: list[Question] = []
        self._lock, self._busy = threading.Lock(), threading.Lock()

    def predict(self, values: list[Any]) -> list[Any]:
        """Return the outputs of inputs in JSON, as JSON; a DataError names an unfit input."""
        question = Question(self.answers.inputs(self.model, values))
        if not question.inputs:
            return []
        with self._lock:
            self._waiting.append(question)
        # Whoever comes first serves all that wait; the others find their answers made.
        with self._busy:
            while not question.answer.done():
                self._serve(self._taken())
        return question.answer.result()

    def _taken(self) -> list[Question]:
        with self._lock:
            n, taken = 0, 0
            for question in self._waiting:
                n += len(question.inputs)
                if taken and n > MOST_WAITING:
                    break
                taken += 1
            chosen, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return chosen

    def _serve(self, questions: list[Question]) -> None:
        inputs = [one for question in questions for one in question.inputs]
        self.n_calls += 1
        self.n_inputs += len(inputs)
        try:
            found = self._outputs(inputs)
        except Exception as error:
            if len(questions) == 1:
                questions[0].answer.set_exception(error)
                return
            for question in questions:  # one of them is at fault
                self._serve([question])
            return
        at = 0
        for question in questions:
            question.answer.set_result(found[at : at + len(question.inputs)])
            at += len(question.inputs)

    def _outputs(self, inputs: list[Any]) -> list[Any]:
        found = self.model.predict(self.answers.joined(inputs))
        return self.answers.outputs(self.model, found)

    def details(self, values: list[Any]) -> list[dict[str, Any]]:
        """Return how the predictions of these inputs come about; empty objects if unknown."""
        if self.answers.details is None:
            return [{} for _ in values]
        with self._busy:
            return self.answers.details(self.model, self.answers.inputs(self.model, values))


class Models:
    """Models below some folders, by name.

    Parameters
    ----------
    folders : function
        Returns the folder of a model by its name, or None.
    names : function
        Returns the names of all.
    tasks : mapping of str to type
        Classes of tasks in Python, by the names that models save, which the operator allowed.
    """

    def __init__(
        self,
        folders: Callable[[str], Path | None],
        names: Callable[[], list[str]],
        tasks: Mapping[str, type[Task]] | None = None,
    ) -> None:
        self._folder, self._names, self._tasks = folders, names, tasks or {}
        self._loaded: OrderedDict[tuple[str, str], Asked] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of_runs(cls, home: Path, names: Callable[[], list[str]], **more: Any) -> Models:
        """The models of the runs in a folder, which have the names of their runs."""

        def folder(name: str) -> Path | None:
            path = home / name / "model"
            return path if NAME.fullmatch(name) and (path / MANIFEST).is_file() else None

        return cls(folder, names, **more)

    @classmethod
    def of_folders(cls, folders: Mapping[str, Path], **more: Any) -> Models:
        return cls(folders.get, lambda: list(folders), **more)

    def all(self) -> Iterator[Named]:
        """Yield all models; those that cannot be read are left out."""
        for name in self._names():
            try:
                yield self.named(name)
            except DistSVMError:
                continue

    def named(self, name: str, version: str | None = None) -> Named:
        """Return a model; Missing if there is none, or if it has another version by now."""
        folder = self._folder(name)
        if folder is None:
            raise Missing(f"there is no model {name!r:.100}")
        manifest = read_manifest(folder / MANIFEST, "model", 1, ModelError)
        facts = manifest.get("facts")
        found = Named(
            name, str(manifest.get("digest"))[:12], folder, str(manifest.get("task")),
            facts if isinstance(facts, dict) else {},
        )  # fmt: skip
        if version not in (None, found.version):
            raise Missing(
                f"the model {name!r} has the version {found.version}, and no longer {version!r:.40}"
            )
        return found

    def asked(self, name: str, version: str | None = None) -> Asked:
        """Return the loaded model."""
        named = self.named(name, version)
        key = named.name, named.version
        with self._lock:
            found = self._loaded.get(key)
            if found is None:
                task = self._tasks.get(named.task)
                found = self._loaded[key] = Asked(named, load_model(named.folder, task))
                while len(self._loaded) > MOST_LOADED:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(key)
        return found

    def counts(self) -> list[tuple[Named, int, int]]:
        """Return the loaded models with their calls and inputs so far."""
        with self._lock:
            return [(one.named, one.n_calls, one.n_inputs) for one in self._loaded.values()]

    def archive(self, name: str) -> bytes:
        """Return the folder of a model as a ZIP archive."""
        named, made = self.named(name), io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted(named.folder.iterdir()):
                if path.is_file() and not path.is_symlink():
                    archive.write(path, f"{named.name}/{path.name}")
        return made.getvalue()
