"""Messages of the library name options, and leave alone what only looks like a parameter."""

import pytest

from distsvm.cli.wording import in_flags


@pytest.mark.parametrize(
    ("ours", "shown"),
    [
        ("C=-1.0: expected a number > 0", "--C -1.0: expected a number > 0"),
        ("C and C_per_example are both given", "--C and --C-per-example are both given"),
        (
            'executor="serial" has one worker, but n_workers is 3',
            "--executor serial has one worker, but --workers is 3",
        ),
        ('otherwise give format="svmlight"', "otherwise give --format svmlight"),
        ("give format= and one of svmlight", "give --format and one of svmlight"),
        ("class_weight names 9", "--class-weight names 9"),
        ("loss: the cost matrix is all 0", "--loss: the cost matrix is all 0"),
        ("qp: cvxpy has no solver", "--qp: cvxpy has no solver"),
        ("run_dir='a b' holds a run", "--run-dir 'a b' holds a run"),
        (
            "Ask for less (n_workers, resources_per_worker) or wait (placement_timeout_s)",
            "Ask for less (--workers, --resources) or wait (--placement-timeout)",
        ),
        ("scale=True divides each", "--scale divides each"),
        (
            "data in memory; call train(…, run_dir=…, resume=True) with the same data",
            "data in memory; only the Python program that has the data can go on with it",
        ),
        ("which only words=True has", "which only --words has"),
        (
            "name it again: address=head:6379 in executor_options, or the variable",
            "name it again: --address head:6379, or the variable",
        ),
    ],
)
def test_parameters_become_options(ours, shown):
    assert in_flags(ours) == shown


@pytest.mark.parametrize(
    "text",
    [
        "/data/n_workers/C=1.svm, line 2: found '1:x'",
        "label 'class_weight' is not among the classes",
        "the loss is large at the start of the solver",
        "run_dir.svm: no such file",
    ],
)
def test_all_else_stays_as_it_is(text):
    assert in_flags(text) == text
