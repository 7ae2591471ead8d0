"""Ray Tune for what a path of C does not search: here the order of a tagger, and which features.

Every trial is one `distsvm.path` on one core, so that C is chosen within it, each value from what
the last one has found. Needs pip install "ray[tune]". Run it: python examples/tune_with_ray.py
"""

import sys

import distsvm
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.structures.sequences.task import SequenceTask

SPACE = {"order": [1, 2], "min_count": [1, 2, 4]}


def make_data():
    """(training pairs, validation pairs)."""
    features = Templates.parse("bias; word[-1..+1]; suffix(1..3)").features
    pairs = [(features(words), tags) for words, tags in make_tagged_sentences(300, seed=0)]
    return pairs[:200], pairs[200:]


def trial(config, data):
    """The metrics of one order and min_count, at the C that is best for them."""
    train, validation = data
    task = SequenceTask(order=config["order"], min_count=config["min_count"])
    found = distsvm.path(
        task, train, Cs=[8, 32, 128, 512], validation=validation, rel_gap=0.1, executor="serial"
    )
    best = found.points[found.best]
    return {"loss": best.validation_loss, "accuracy": best.validation_accuracy, "C": best.C}


def main():
    try:
        from ray import tune
    except ImportError as error:
        sys.exit(f'this example needs Ray Tune: pip install "ray[tune]" ({error})')
    space = {name: tune.grid_search(values) for name, values in SPACE.items()}
    tuner = tune.Tuner(
        tune.with_parameters(trial, data=make_data()),
        param_space=space,
        tune_config=tune.TuneConfig(metric="loss", mode="min"),
    )
    best = tuner.fit().get_best_result()
    chosen, metrics = {name: best.config[name] for name in SPACE}, best.metrics
    print(f"best: {chosen} with C = {metrics['C']:g}, validation loss {metrics['loss']:.4f}")


if __name__ == "__main__":
    main()
