"""Small runs with a folder, and ways to break them off."""

from types import SimpleNamespace

from toy_tasks import ToyChain, toy_chains

from distsvm import Callback, train
from distsvm.training.checkpoint import checkpoint_folders, read_checkpoint
from distsvm.training.run_folder import RunFolder

INPUTS, OUTPUTS = toy_chains(n=60)
CONFIG = {"C": 20.0, "eps": 1e-4, "executor": "serial", "n_shards": 5}
SHORT = {"n_shards": 2, "max_rounds": 4, "checkpoint_rounds": 2, "checkpoint_share": 1}
WORKER_FIELDS = {"seconds", "elapsed_s", "busy_s", "n_restarts", "note"}


def history(result):
    """The rounds' records, but for what depends on the workers."""
    return [
        {k: v for k, v in record.as_dict().items() if k not in WORKER_FIELDS}
        for record in result.history
    ]


def kept_history(folder):
    """As `history`, of what a folder has."""
    return history(SimpleNamespace(history=RunFolder(folder).history()))


def latest_checkpoint(folder):
    """The newest checkpoint of a run; None before the first."""
    folders = checkpoint_folders(folder)
    return read_checkpoint(folders[-1]) if folders else None


def go(run_dir, task=None, inputs=INPUTS, outputs=OUTPUTS, **more):
    return train(task or ToyChain(), inputs, outputs, run_dir=str(run_dir), **CONFIG | more)


class StopAfter(Callback):
    """Asks to stop after a given round, as Ctrl-C does."""

    def __init__(self, number):
        self.number = number

    def on_round(self, record):
        return record.number == self.number
