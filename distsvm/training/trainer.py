"""The trainer: wires data, task, executor and solver together, and decides when to stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.cuts.bounds import Bounds, Target
from distsvm.data import open_data
from distsvm.data.files import whole_path
from distsvm.data.keeping import Keeping
from distsvm.data.remembered import remembered
from distsvm.errors import ConfigError, DataError, StoreError
from distsvm.executors import make_executor
from distsvm.executors.base import Executor
from distsvm.messages import Facts, Score
from distsvm.model import Model, load_model
from distsvm.oracles.task import Task
from distsvm.oracles.unseen import tell_unseen
from distsvm.solvers.base import Round, State
from distsvm.training.callbacks import Callback, LogRounds, RunStart
from distsvm.training.config import TrainConfig
from distsvm.training.data_manifest import DataManifest
from distsvm.training.loading import check_counts, read_again, tell_dropped, tell_uncached
from distsvm.training.metrics import RayMetrics, run_name
from distsvm.training.result import TrainResult
from distsvm.training.run_folder import RunFolder, described_data
from distsvm.training.saving import Saving, problem_of
from distsvm.training.solving import Choice, cache_size, cut_data, make_solver
from distsvm.training.validation import Watch
from distsvm.wording import Setting, message
from distsvm.workers.shard_worker import ShardWorker

log = logging.getLogger(__name__)

C_FACTOR = 10.0
EPS_SHARE = 1e-3


class Trainer:
    """One run, or several at growing C on the same workers.

    `load` reads the data, `begin` sets up or restores the state, `run` does rounds, and `follow`
    begins the next run.

    Parameters
    ----------
    watching : bool, default True
        Whether validation data is looked at after fresh rounds, and may end the run.
    """

    def __init__(
        self, task: Task, config: TrainConfig, callbacks: Sequence[Callback],
        watching: bool = True,
    ) -> None:  # fmt: skip
        if not isinstance(task, Task):
            raise ConfigError(f"task is {task!r}, expected an instance of a distsvm.Task")
        self.task, self.config = task, config
        logged = [LogRounds(config.verbose)] if config.verbose else []
        self.callbacks = [*callbacks, *logged]
        if config.rescaling not in task.rescalings:
            raise ConfigError(
                message(
                    "{}: {} can do {}",
                    Setting("rescaling", config.rescaling),
                    type(task).__name__,
                    ", ".join(sorted(task.rescalings)),
                )
            )
        self.given_task, self.watching = task, watching
        self.folder = None if config.run_dir is None else RunFolder(config.run_dir)
        self.executor: Executor = make_executor(
            config.executor, config.n_workers, compiled=task.compiled, **config.executor_options
        )
        self.choice: Choice | None = None
        if self.executor.name == "ray":
            self.callbacks.append(RayMetrics(run_name(config.run_dir)))
        self.history: list[Round] = []
        self.watch = Watch()
        self._late, self._longest_s = False, 0.0
        self._started = time.perf_counter()
        self._earlier_s = self._earlier_load_s = 0.0
        self.notes: list[str] = []
        self._notes: list[str] = []  # not told yet

    def hold(self) -> None:
        """Hold the folder of a run that is there, to go on with it."""
        if self.folder is None:
            raise ConfigError(message("resume=True needs {run_dir}, the folder of the run"))
        run = self.folder.read()  # or nothing must be written there
        self.choice = Choice.recorded(run, self.folder.path / "run.json")
        self.folder.hold()

    # --- data ------------------------------------------------------------------------------

    def load(
        self, data: Any, outputs: Any, weight: Any, options: dict[str, Any], validation: Any
    ) -> None:
        """Have every worker read its own shards, scan them once, and bind the task to them."""
        config = self.config
        if self.folder is not None and self.executor.name not in ("serial", "threads"):
            self.folder.check_shared(self.executor.name)
        if isinstance(weight, str):  # the name of a column: the validation's too, kept for resume
            options, weight = {**options, "weight": weight}, None
        self.described = described_data(data, outputs, options)
        self.described_checks = described_data(validation, None, options)
        self.data_notes = None if outputs is not None else remembered(data, options)
        cost = self.task.cost
        kind = {**options, "tables": self.task.tables}
        own = kind if weight is None else {**kind, "weight": weight}
        examples = open_data(data, outputs, **own)
        choice = self.choice or Choice.of(config, self.task, self.executor, examples)
        self.choice, self.cache_size = choice, cache_size(config, self.task, choice)
        self.cut = cut_data(examples, config, self.task, choice)
        specs = self.cut.specs
        checks = []
        if validation is not None:
            checks = list(open_data(validation, **kind).specs(None, cost))
        self.manifest = DataManifest.of([*specs, *checks])
        if self.folder is not None:
            self.manifest.check_files(self.folder.path)
        cache_dir = None if config.cache_dir is None else whole_path(config.cache_dir)
        keeping = Keeping(cache_dir, config.worker_memory_mb, choice.worker_vectors)
        keeping = keeping.checked([*specs, *checks])
        tell_uncached(keeping, [*specs, *checks])
        self.shards = range(len(specs))
        self.check_shards = range(len(specs), len(specs) + len(checks))
        self.executor.start(
            [partial(ShardWorker, spec, keeping) for spec in (*specs, *checks)],
            groups=[group for group in (self.shards, self.check_shards) if group],
        )
        summaries = self.executor.run("scan", self.task)
        counts = [summary.n_examples for summary in summaries]
        summary = reduce(add, summaries[: len(specs)])
        self.n_checks = sum(counts[len(specs) :])
        self.task = self.task.prepare(summary)
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist()
        pinned = read_again(self.executor, [*specs, *checks])
        digested = self.folder is not None or bool(pinned)
        facts: list[Facts] = self.executor.prepare(
            "bind", self.task, config.rescaling, self.cache_size, digested,
            shards=self.shards, each=[(first,) for first in firsts[: len(specs)]],
        )  # fmt: skip
        check_counts(specs, counts, facts)
        self.check_fingerprint = ""
        self.manifest.digests = [fact.fingerprint for fact in facts]
        if checks:
            tell_unseen(self.executor.prepare("attach", self.task, shards=self.check_shards))
            if digested:
                parts = self.executor.run("fingerprint", shards=self.check_shards)
                self.check_fingerprint = "".join(parts)
                self.manifest.digests += parts
        if pinned:
            digests = [(self.manifest.digests[shard],) for shard in pinned]
            self.executor.prepare("expect", shards=pinned, each=digests)
        self.facts = reduce(add, facts)
        tell_dropped(self.facts)
        self.load_s = time.perf_counter() - self._started
        if not self.facts.weight > 0:
            raise DataError("the examples' weights, times those of their classes, are all 0")

    def default_C(self, resume: bool = False) -> float:
        """The C of the configuration, or that of the run that goes on, or what the data calls for.

        The bounds of a checkpoint belong to one C, and the default had another formula before.
        """
        config, facts = self.config, self.facts
        if config.C is not None:
            return config.C
        if config.C_per_example is not None:
            return config.C_per_example * facts.weight
        used = self.folder.read().get("used", {}) if resume and self.folder is not None else {}
        if "C" in used:
            return used["C"]
        mean = facts.square_norm / facts.weight
        return C_FACTOR * facts.n_weighted * self.task.loss_unit / (mean if mean > 0 else 1.0)

    # --- the state -------------------------------------------------------------------------

    def begin(self, start: Any = None, resume: bool = False, C: float | None = None) -> None:
        """Make the solver and its state: new, from an earlier model, or from a checkpoint."""
        config = self.config
        self.C = self.default_C(resume) if C is None else C
        self.target = Target(config.eps, config.rel_gap)
        if config.eps is None and config.rel_gap is None:
            self.target = Target(eps=EPS_SHARE * self.task.loss_unit)
        assert self.choice is not None, "load() comes first"
        self.solver, self.risk = make_solver(
            config, self.task, self.executor, self.choice, self.cut, self.facts, self.C,
            self.target, self.cache_size > 0,
        )  # fmt: skip
        self.saving = self._saving()
        if not (resume and self._restore()):
            self.state: State = self.solver.begin(self.risk, self._start(start))
        if self.saving is not None:
            if not resume:
                self._create(self.saving)
            self.saving.folder.keep_history(self.history)
            if not resume and start is not None:
                self._save(self.saving)  # or a crash would forget where it started

    def follow(self, C: float) -> None:
        """Begin another run at this C, from where the last one ended; nothing is asked for that."""
        factor = C / self.C
        self._started, self.load_s = time.perf_counter(), 0.0
        self.C, self.solver = C, replace(self.solver, C=C)
        self.state = self.solver.follow(self.risk, self.state, factor)
        self.history, self.notes = [], []

    def _create(self, saving: Saving) -> None:
        saving.folder.create(
            self.config,
            self.given_task,
            data=self.described,
            validation=self.described_checks,
            used=asdict(self._start_facts()),
            problem=saving.problem,
        )
        self.manifest.write(saving.folder.path)

    def _start(self, start: Any) -> np.ndarray | None:
        if start is None:
            return None
        if not isinstance(start, Model):
            start = load_model(start, None if self.task.compiled else type(self.task))
        return self.task.carry(start.w, start.task)

    def _saving(self) -> Saving | None:
        """What writes and reads this run's checkpoints, if it has a folder."""
        if self.folder is None:
            return None
        problem = problem_of(
            self.task, self.config, self.solver, self.cache_size, self.facts,
            self.check_fingerprint,
        )  # fmt: skip
        return Saving(self.folder, self.config, problem, self.executor, self.shards)

    def _restore(self) -> bool:
        """Go on from the last checkpoint; False if there is none."""
        assert self.saving is not None
        found = self.saving.resume(self.manifest, self.solver, self.risk)
        if found is None:
            return False
        self.state, self.watch, self.history = found.state, found.watch, found.history
        self._earlier_s, self._earlier_load_s = found.elapsed_s, found.load_s
        self._notes += found.notes
        return True

    def _save(self, saving: Saving, planes: bool = True) -> None:
        load_s = self._earlier_load_s + self.load_s
        saving.write(self.state, self.watch, self._elapsed(), load_s, planes)

    def _try_to_save(self, saving: Saving, number: int, is_last: bool) -> None:
        """Write a checkpoint, the last one without planes if it does not fit with them.

        Hours of work are not given up where a store or a full disk refuses: a note says so.
        """
        try:
            self._save(saving)
        except StoreError as error:
            what = "no checkpoint"
            if is_last:
                with suppress(StoreError):
                    self._save(saving, planes=False)
                    what = "a checkpoint without planes"
            self._notes.append(f"{what} after round {number}: {error}")
            log.warning("%s", self._notes[-1])

    # --- rounds ----------------------------------------------------------------------------

    def run(self) -> TrainResult:
        """Rounds until something says stop; then the result."""
        for callback in self.callbacks:
            callback.on_start(self._start_facts())
        if self.saving is not None:
            self.saving.wait()
        if self.config.max_seconds is not None:
            left_s = self.config.max_seconds - (time.perf_counter() - self._started)
            shards = [*self.shards, *self.check_shards]
            self.executor.prepare("limit", time.time() + left_s, shards=shards)
        reason = None if not self.history else self._reason(self.history[-1], fresh_only=True)
        rounds = self.solver.rounds(self.risk, self.state)
        while reason is None:
            self.executor.adapt()
            forced = self.solver.is_forced(self.risk, self.state)
            self._save_before(forced)
            began_s = time.perf_counter()
            record = self._finished(next(rounds))
            self._longest_s = max(self._longest_s, time.perf_counter() - began_s)
            self.history.append(record)
            asked_to_stop = self.folder is not None and self.folder.append(record)
            asked = [callback.on_round(record) for callback in self.callbacks]
            reason = self._reason(record)
            if reason is None and (asked_to_stop or any(asked)):
                reason = "interrupted"
            if self._late:
                reason = reason or "max_seconds"
            if forced or self._late or self.saving is None:
                continue  # a later session makes this round as the run would have made it
            if reason or self.saving.is_due(record.number):
                self._try_to_save(self.saving, record.number, reason is not None)
        result = self._result(reason)
        if self.folder is not None:
            self.folder.finish(result)
        for callback in self.callbacks:
            callback.on_end(result)
        return result

    def _save_before(self, forced: bool) -> None:
        """Write a checkpoint before a round that is no state to go on from, if it may be one."""
        saving = self.saving
        if saving is None or saving.last == self.state.number or not self.state.number:
            return
        limit_s = self.config.max_seconds
        session_s = time.perf_counter() - self._started
        may_be_late = limit_s is not None and session_s + self._longest_s > limit_s
        if forced or (may_be_late and saving.fits()):
            self._try_to_save(saving, self.state.number, is_last=True)

    def _start_facts(self) -> RunStart:
        return RunStart(
            n_examples=self.facts.n_examples, dim=self.task.dim, n_shards=self.cut.n_shards,
            n_workers=self.executor.n_workers, executor=self.executor.name, C=self.C,
            eps=self.target.eps, rel_gap=self.target.rel_gap, max_rounds=self.config.max_rounds,
            bound_on_rounds=self._bound(), first_round=len(self.history) + 1,
            n_dropped=self.facts.n_dropped, n_blocks=len(self.cut.blocks),
        )  # fmt: skip

    def _finished(self, record: Round) -> Round:
        """The solver's record with what only the trainer knows."""
        self._late = self.state.late
        if record.kind == "fresh" and self.check_shards and self.watching:
            looked = self.watch.look(record.number, self.state.bounds, self._look)
            self._late = self._late or not looked
        score = self.watch.score
        activity = self.executor.activity()
        told = [*self._notes, *filter(None, [record.note]), *self.executor.notes()]
        self.notes, self._notes = self.notes + told, []
        return replace(
            record,
            note="; ".join(told) or None,
            elapsed_s=self._elapsed(),
            validation_loss=None if score is None else score.mean_loss,
            validation_accuracy=None if score is None else score.accuracy,
            busy_s=tuple(a.busy_s for a in activity),
            n_restarts=sum(a.n_restarts for a in activity),
        )

    def evaluate(self, w: np.ndarray) -> Score:
        """How w does on the validation data."""
        return self.executor.reduce("evaluate", w, groups=[self.check_shards])[0]

    def _look(self, w: np.ndarray) -> Score | None:
        """As evaluate; None where the time is over before all are predicted."""
        score = self.executor.reduce("evaluate", w, True, groups=[self.check_shards])[0]
        return score if score.n_examples == self.n_checks else None

    def _reason(self, record: Round, fresh_only: bool = False) -> str | None:
        """Why to stop now, or None. Bounds are only believed after a fresh round."""
        config = self.config
        if record.kind == "fresh":
            if reached := self.target.reached(self.C, record.gap, record.best_primal):
                return reached
            if self.state.stalled:
                return "precision"
            if self.watch.best is not None and self.watch.n_since >= config.patience:
                return "validation"
        if config.max_rounds is not None and record.number >= config.max_rounds:
            return "max_rounds"
        if fresh_only or config.max_seconds is None:
            return None
        session_s = time.perf_counter() - self._started
        return "max_seconds" if session_s >= config.max_seconds else None

    # --- the end ---------------------------------------------------------------------------

    def _result(self, reason: str) -> TrainResult:
        bounds, last = self.watch.chosen(self.state.bounds), self.history[-1]
        if bounds.w is None:
            bounds = self._without_primal(bounds)
        assert bounds.w is not None
        reached = self.target.reached(self.C, bounds.gap, bounds.primal)
        if not (bounds.w.any() or reached):
            log.warning(
                "no w so far has a smaller primal value than w = 0, which predicts the same for "
                "everything; more rounds, or a smaller C, will help"
            )
        if bounds.primal == 0 and not bounds.w.any():
            log.warning(
                "w = 0 has the primal value 0, so no output has a loss or none was found: the "
                "model predicts the same for everything. %s",
                "Are all outputs equal?" if self.task.compiled else
                "Check the task's loss and separate with distsvm.testing.check_task",
            )  # fmt: skip
        result = TrainResult(
            model=Model(self.task, bounds.w),
            certificate=bounds.certificate, primal=bounds.primal, dual=bounds.dual, gap=bounds.gap,
            stop_reason=reason, n_rounds=last.number, n_oracle_calls=last.n_oracle_calls,
            n_cache_hits=last.n_cache_hits, n_cuts=last.n_cuts, n_support_cuts=last.n_support_cuts,
            bound_on_rounds=self._bound(), seconds=self._seconds(), memory=self._memory(),
            history=self.history,
            C=self.C, eps=self.target.eps, rel_gap=self.target.rel_gap,
            activity=self.executor.activity(),
            n_examples=self.facts.n_examples, n_dropped=self.facts.n_dropped,
            best_validation=self.watch.best,
            n_planes=last.n_planes, n_support_planes=last.n_support_planes,
            n_refused_planes=last.n_refused_planes, notes=[*self.notes, *self._notes],
            n_checkpoints=0 if self.saving is None else self.saving.n_written,
            checkpoint_bytes=0 if self.saving is None else self.saving.n_bytes,
        )  # fmt: skip
        facts = (
            "certificate", "primal", "dual", "gap", "stop_reason", "n_rounds", "C", "eps", "rel_gap"
        )  # fmt: skip
        result.model.facts.update({name: getattr(result, name) for name in facts})
        result.model.facts["rescaling"] = self.config.rescaling
        if self.data_notes is not None:
            result.model.facts["data"] = self.data_notes
        return result

    def _without_primal(self, bounds: Bounds) -> Bounds:
        """The bounds of a run whose time was over before all examples were asked about any w.

        No loss is larger than the largest, so P(0) is known to be at most that; where the task is
        one's own, its largest loss is a claim, and w is what the cut so far gives.
        """
        if self.task.compiled:
            return replace(
                bounds,
                primal=self.C * self.task.largest_loss,
                w=np.zeros(self.task.dim),
                exact=False,
            )
        return replace(bounds, w=self.state.w)

    def _bound(self) -> int | None:
        return self.solver.bound_on_rounds(
            self.risk.n_blocks, self.facts.square_radius, self.task.largest_loss
        )

    def _seconds(self) -> dict[str, float]:
        phases = dict(self.state.clock.seconds)
        total = self._elapsed()
        load_s = self._earlier_load_s + self.load_s
        if self.saving is not None:
            phases["checkpoints"] = self.saving.spent_s
        other = max(0.0, total - load_s - sum(phases.values()))
        return {"load": load_s, **phases, "other": other, "total": total}

    def _memory(self) -> dict[str, int]:
        facts = self.facts
        return {
            "data": facts.data_bytes,
            "planes": facts.plane_bytes + self.state.plane_bytes,
            "cuts": self.state.n_bytes,
        }

    def _elapsed(self) -> float:
        return self._earlier_s + time.perf_counter() - self._started

    def fail(self, error: BaseException) -> None:
        """Have the run's folder say why there is no result."""
        if self.folder is not None:
            self.folder.fail(error)

    def close(self) -> None:
        try:
            self.executor.close()
        finally:
            if self.folder is not None:
                self.folder.close()
