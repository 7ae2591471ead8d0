"""Small problems for paths of C, and callbacks that watch or stop them."""

from toy_tasks import ToyChain, toy_chains

from distsvm import Callback, MulticlassTask
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.structures.sequences.task import SequenceTask

SOLVERS = ["one-slack", "multi-plane", "n-slack"]
SERIAL = {"executor": "serial"}


def classes():
    return MulticlassTask(), *make_multiclass(120, 6, 3, noise=0.4, seed=0)


def sequences():
    features = Templates.parse("bias; word; suffix(1..2)").features
    made = [(features(words), tags) for words, tags in make_tagged_sentences(24, seed=1)]
    return SequenceTask(), [x for x, _ in made], [y for _, y in made]


def chains():
    return ToyChain(), *toy_chains(n=30, seed=3)


PROBLEMS = {make.__name__: make for make in (classes, sequences, chains)}


PROBLEMS = {make.__name__: make for make in (classes, sequences, chains)}


class Models(Callback):
    def __init__(self):
        self.found = []

    def on_end(self, result):
        self.found.append(result)


class StopIn(Callback):
    """Asks to stop in the first round of one of the steps."""

    def __init__(self, number, fold=0):
        self.wanted = (number, fold)
        self.at = None

    def on_step(self, step):
        self.at = (step.number, step.fold)

    def on_round(self, record):
        return self.at == self.wanted
