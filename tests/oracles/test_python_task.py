"""Tasks in plain Python: checked answers, errors that name the example, files without pickle."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from toy_tasks import BoundedChain, ToyChain, toy_chains

from distsvm import Bounded, train
from distsvm.data.shard import Shard
from distsvm.errors import TaskError
from distsvm.messages import Planes
from distsvm.oracles.outputs import from_json, to_json
from distsvm.oracles.python import PythonOracle
from distsvm.testing import check_task
from distsvm.vectors import SparseVector

INPUTS, OUTPUTS = toy_chains(n=6)
EXAMPLES = list(zip(INPUTS, OUTPUTS, strict=True))


def oracle(task, rescaling="margin", first=0):
    return PythonOracle(task, Shard(INPUTS, OUTPUTS, None, first=first), rescaling)


@pytest.mark.parametrize("task", [ToyChain(), BoundedChain()])
def test_toy_tasks_pass_check_task(task):
    check_task(task, EXAMPLES, outputs=task.outputs)


def broken(**methods):
    cls = type("Broken", (ToyChain,), methods)
    globals()["Broken"] = cls  # so that it can be pickled
    cls.__module__ = __name__
    return cls()


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"loss": lambda self, y, z: 1.0}, "loss\\(y, y\\) is 1.0"),
        ({"loss": lambda self, y, z: -float(y != z)}, "expected ≥ 0"),
        ({"decode": lambda self, w, x: (0,) * len(x)}, "decode gives"),
        ({"separate": lambda self, w, x, y, r: y}, "separate\\(margin\\) gives"),
        ({"separate": lambda self, w, x, y, r: Bounded(y, -1.0)}, "separate\\(margin\\)"),
        ({"separate": lambda self, w, x, y, r: 1 / 0}, "separate raised ZeroDivisionError"),
        ({"joint_features": lambda self, x, y: {99: 1.0}}, "outside 0 … 9"),
        ({"joint_features": lambda self, x, y: np.ones(3)}, "shape \\(3,\\)"),
        ({"joint_features": lambda self, x, y: {0: float("nan")}}, "not finite"),
        ({"decode_output": lambda self, data: None}, "decode_output"),
        ({"cost": lambda self, x: 0.0}, "cost"),
        ({"loss": lambda self, y, z: "much"}, r"loss returned 'much' \(str\), expected a number"),
        ({"loss": lambda self, y, z: None}, r"loss returned None \(NoneType\)"),
        ({"separate": lambda self, w, x, y, r: None}, "separate returned None .* return missing"),
        ({"decode": lambda self, w, x: None}, "decode returned None"),
        ({"joint_features": lambda self, x, y: None}, "joint_features returned None"),
        ({"joint_features": lambda self, x, y: "abc"}, "joint_features returned 'abc'"),
        ({"largest_loss": 0.4}, "above largest_loss, which is 0.4"),
        ({"largest_loss": lambda self: 1.0}, r"largest_loss is .* \(method\), expected a number"),
        ({"dim": 0}, "dim is 0"),
        ({"rescalings": frozenset({"hinge"})}, "rescalings"),
    ],
)
def test_check_task_names_the_broken_promise(methods, message):
    task = broken(**methods)
    with pytest.raises(TaskError, match=message):
        check_task(task, EXAMPLES, outputs=ToyChain().outputs)


def forgets_the_loss(self, w, x, y, rescaling):
    return self.decode(w, x)


def adds_a_tenth_of_the_loss(self, w, x, y, rescaling):
    return ToyChain.separate(self, 10 * w, x, y, rescaling)


@pytest.mark.parametrize("separate", [forgets_the_loss, adds_a_tenth_of_the_loss])
def test_check_task_sees_a_wrong_weight_of_the_loss_without_a_list_of_outputs(separate):
    task = broken(separate=separate, rescalings=frozenset({"margin"}))
    with pytest.raises(TaskError, match=r"separate\(margin\) gives .* expected the largest value"):
        check_task(task, EXAMPLES)


@pytest.mark.parametrize("task", [ToyChain(), BoundedChain()])
def test_right_tasks_pass_check_task_without_a_list_of_outputs(task):
    for seed in range(5):
        check_task(task, EXAMPLES, seed=seed)


def test_check_task_refuses_a_task_that_writes_into_w():
    def decode(self, w, x):
        w[0] = 0.0
        return (0,) * len(x)

    with pytest.raises(TaskError, match="read-only"):
        check_task(broken(decode=decode), EXAMPLES)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"loss": lambda self, y, z: 0.5}, "example 100: loss\\(y, y\\) is 0.5"),
        ({"loss": lambda self, y, z: float("nan") if y != z else 0.0}, "nan"),
        (
            {"separate": lambda self, w, x, y, r: self.decode(-w, x)},
            "example 10[0-5]: separate returned .* below 0, the truth's",
        ),
        ({"separate": lambda self, w, x, y, r: Bounded(y, -1.0)}, "upper bound -1"),
        ({"separate": lambda self, w, x, y, r: [][0]}, "example 100: .* in separate: IndexError"),
        ({"separate": lambda self, w, x, y, r: None}, "example 100: separate returned None"),
        ({"loss": lambda self, y, z: "0"}, r"example 100: loss returned '0' \(str\)"),
        (
            {
                "separate": lambda self, w, x, y, r: tuple(1 - tag for tag in y),
                "loss": lambda self, y, z: 0.0 if y == z else {}["a"],
            },
            "example 10[0-5]: Broken failed in loss: KeyError",
        ),
    ],
)
def test_training_oracle_refuses_broken_answers_with_the_example(methods, message):
    w = 5 * np.random.default_rng(0).standard_normal(ToyChain().dim)
    with pytest.raises(TaskError, match=message):
        oracle(broken(**methods), first=100).separate(w, np.arange(6))


def test_training_refuses_a_largest_loss_that_is_no_number():
    task = broken(largest_loss=lambda self: 1.0)
    with pytest.raises(TaskError, match=r"largest_loss is .* \(method\), expected a number"):
        train(task, *map(list, zip(*EXAMPLES, strict=True)), executor="serial")


def test_values_and_sums_equal_the_features():
    rng = np.random.default_rng(3)
    for rescaling in ("margin", "slack"):
        bound = oracle(ToyChain(), rescaling)
        w = rng.standard_normal(bound.task.dim)
        answer = bound.separate(w, np.arange(6))
        assert answer.exact
        np.testing.assert_allclose(bound.values(w, answer.planes), answer.value)
        total = np.zeros(bound.task.dim)
        weights = rng.random(6)
        bound.accumulate(answer.planes, weights, total)
        assert np.isclose(weights @ answer.planes.loss - total @ w, weights @ answer.value)


def test_planes_without_features_have_the_value_of_their_loss():
    bound = oracle(ToyChain())
    empty = np.empty(2, dtype=object)
    nothing = SparseVector(np.zeros(0, np.int64), np.zeros(0), bound.task.dim)
    for i in range(2):
        empty[i] = replace(
            bound.separate(np.zeros(bound.task.dim), np.arange(1)).planes.output[0], p=nothing
        )
    planes = Planes(np.arange(2), empty, np.array([0.25, 0.5]))
    assert bound.values(np.ones(bound.task.dim), planes).tolist() == [0.25, 0.5]


def test_planes_survive_a_file():
    bound = oracle(ToyChain(), "slack")
    w = np.random.default_rng(0).standard_normal(bound.task.dim)
    planes = bound.separate(w, np.arange(6)).planes
    back = bound.unpack(bound.pack(planes))
    assert [p.output for p in back.output] == [p.output for p in planes.output]
    assert np.array_equal(bound.values(w, back), bound.values(w, planes))
    assert np.array_equal(bound.keys(back.output), bound.keys(planes.output))


@pytest.mark.parametrize(
    "value",
    [
        3,
        2.5,
        "a",
        None,
        True,
        (1, (2, "x")),
        [1, [2]],
        {"a": (1, 2), 3: [4]},
        {1, 2},
        frozenset({1}),
    ],
)
def test_outputs_survive_json_with_their_types(value):
    back = from_json(to_json(value))
    assert back == value
    assert type(back) is type(value)


def test_an_output_that_json_cannot_hold_says_what_to_do():
    @dataclass
    class Odd:
        a: int

    with pytest.raises(TaskError, match="encode_output"):
        to_json(Odd(1))


def test_fingerprint_is_of_the_examples():
    one, same = oracle(ToyChain()).fingerprint(), oracle(ToyChain()).fingerprint()
    other = PythonOracle(
        ToyChain(), Shard(INPUTS[::-1], OUTPUTS[::-1], None), "margin"
    ).fingerprint()
    assert one == same != other


def test_a_python_task_takes_arrays_as_sequences_of_inputs():
    inputs = np.array([[0, 1, 2], [2, 1, 0], [1, 1, 2], [0, 0, 1]])
    outputs = np.array([[0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    result = train(ToyChain(), inputs, outputs, C=10.0, executor="serial")
    assert result.stop_reason == "eps"
    assert len(result.model.predict(inputs)) == 4
    assert result.model.evaluate(inputs, outputs).n_examples == 4
