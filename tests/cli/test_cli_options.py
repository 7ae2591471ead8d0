"""Options become the configuration, the task and the data's arguments that the library takes."""

import re

import numpy as np
import pytest

from distsvm.cli.data_options import data_options
from distsvm.cli.options import given_config
from distsvm.cli.program import VERBS, build_parser
from distsvm.cli.resume import CHANGEABLE
from distsvm.cli.tasks import make_task
from distsvm.cli.words import SHELL
from distsvm.errors import ConfigError
from distsvm.executors.options import RayOptions
from distsvm.kinds import Unfit
from distsvm.options import declared
from distsvm.structures.classes.option_kinds import ClassWeight
from distsvm.structures.classes.options import cost_matrix
from distsvm.structures.classes.task import BinaryTask, MulticlassTask
from distsvm.training.config import TrainConfig, all_options

OPTIONS = [own for own in all_options().values() if own.flag]

# For every option a text, and the value that TrainConfig must get.
EXAMPLES = {
    "--C": ("1000", 1000.0),
    "--C-per-example": ("0.5", 0.5),
    "--rescaling": ("slack", "slack"),
    "--penalty": ("quadratic", "quadratic"),
    "--eps": ("0.1", 0.1),
    "--rel-gap": ("1e-3", 1e-3),
    "--max-rounds": ("7", 7),
    "--max-seconds": ("2.5", 2.5),
    "--patience": ("3", 3),
    "--solver": ("one-slack", "one-slack"),
    "--cache-size": ("5", 5),
    "--refresh-fraction": ("0.25", 0.25),
    "--ask-share": ("0.5", 0.5),
    "--plane-memory": ("512", 512.0),
    "--stabilise": ("1", 1.0),
    "--blocks": ("4", 4),
    "--formulation": ("weston-watkins", "weston-watkins"),
    "--shrinking": ("cooled", "cooled"),
    "--batch": ("50", 50),
    "--ascent": ("subspace", "subspace"),
    "--working-set": ("512", 512.0),
    "--idle-planes": ("20", 20),
    "--method": ("linear-time", "linear-time"),
    "--sample": ("200", 200),
    "--certify": (None, True),
    "--quiet-samples": ("5", 5),
    "--redraws": ("3", 3),
    "--idle-rounds": ("30", 30),
    "--dual-sweeps": ("1", 1),
    "--qp": ("line-search", "line-search"),
    "--idle-solves": ("20", 20),
    "--max-cuts": ("99", 99),
    "--shards": ("8", 8),
    "--seed": ("11", 11),
    "--executor": ("threads", "threads"),
    "--workers": ("2", 2),
    "--cache-dir": ("packed", "packed"),
    "--worker-memory": ("512", 512.0),
    "--run-dir": ("runs/a", "runs/a"),
    "--checkpoint-rounds": ("10", 10),
    "--checkpoint-seconds": ("1.5", 1.5),
    "--checkpoint-share": ("0.5", 0.5),
    "--keep-checkpoints": ("4", 4),
}


def words_of(option):
    """The option as it is typed."""
    text = EXAMPLES[option.flag][0]
    return [option.flag] if text is None else [option.flag, text]


def parsed(*words):
    return build_parser("train").parse_args(
        ["train", "--task", "multiclass", "--data", "a.svm", "--model", "m", *words]
    )


def test_every_option_of_training_has_a_flag_or_is_said_by_others():
    without = {own.name for own in all_options().values()} - {own.name for own in OPTIONS}
    assert without == {"verbose", "executor_options", "solver_options"}
    assert {option.flag for option in OPTIONS} == set(EXAMPLES)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_an_option_sets_its_field(option):
    expected = EXAMPLES[option.flag][1]
    config = given_config(parsed(*words_of(option)))
    config.pop("executor_options", None)
    assert config == {option.name: expected}
    assert TrainConfig.from_dict(config).values()[option.name] == expected


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_the_help_names_the_default_of_the_library(option):
    default, text = TrainConfig().values()[option.name], option.described(SHELL)
    if isinstance(default, str):
        assert f"Default: {default}" in text
    elif default not in (None, False):
        assert re.search(rf"Default: {default:g}(\D|$)", text)


@pytest.mark.parametrize(
    ("flag", "formula"),
    [
        ("--eps", "primal − dual ≤ C·eps"),
        ("--rel-gap", "(primal − dual) / primal ≤ X"),
        ("--C", "10 · n · Δ̄ / mean ‖Ψ(x, y)‖²"),
        ("--C-per-example", "C = C_per_example · Σ c_i"),
        ("--stabilise", "(1 − µ)·w_best + µ·w_model"),
    ],
)
def test_the_help_of_a_tolerance_gives_its_formula(flag, formula):
    assert formula in next(o.described(SHELL) for o in OPTIONS if o.flag == flag)


def test_nothing_given_is_the_default_configuration():
    assert TrainConfig.from_dict(given_config(parsed())) == TrainConfig()


def test_verbose_reaches_the_configuration():
    assert given_config(parsed("-vv")) == {"verbose": 2}


def test_options_of_ray_become_executor_options():
    words = ["--address", "auto", "--resources", "CPU=2,GPU=0.5", "--placement-timeout", "9",
             "--max-failures", "1", "--worker-timeout", "7", "--call-timeout", "none",
             "--min-workers", "2", "--threads", "4"]  # fmt: skip
    assert given_config(parsed(*words)) == {
        "executor": "ray",
        "executor_options": {
            "address": "auto",
            "resources_per_worker": {"CPU": 2.0, "GPU": 0.5},
            "placement_timeout_s": 9.0,
            "max_failures": 1,
            "worker_timeout_s": 7.0,
            "call_timeout_s": None,
            "min_workers": 2,
            "threads_per_worker": 4,
        },
    }
    assert {own.flag for own in declared(RayOptions).values()} <= set(words)


def test_options_of_ray_are_refused_elsewhere():
    with pytest.raises(ConfigError, match="--address needs --executor ray"):
        given_config(parsed("--address", "auto", "--executor", "threads"))


def test_none_lifts_a_limit():
    config = given_config(parsed("--max-rounds", "none", "--max-seconds", "None"))
    assert config == {"max_rounds": None, "max_seconds": None}


def test_resume_takes_what_may_change_and_nothing_else():
    parser = build_parser("resume")
    for option in OPTIONS:
        words = ["resume", "r", *words_of(option)]
        if option.name in CHANGEABLE:
            assert given_config(parser.parse_args(words), CHANGEABLE)
        else:
            with pytest.raises(SystemExit):
                parser.parse_args(words)


@pytest.mark.parametrize("words", [["--quiet", "train"], ["train", "--quiet"]])
def test_what_is_global_stands_before_or_behind_the_verb(words):
    args = build_parser("train").parse_args([*words, "--task", "binary", "--data", "a"])
    assert args.quiet


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_exit_codes(verb, capsys):
    with pytest.raises(SystemExit):
        build_parser(verb).parse_args([verb, "--help"])
    text = capsys.readouterr().out
    assert "130  interrupted by Ctrl-C" in text
    assert "--json" in text


# --- task ----------------------------------------------------------------------------------


def test_the_task_gets_its_options():
    task = make_task(parsed("--loss-scale", "100", "--scale", "--class-weight", "balanced"))
    assert isinstance(task, MulticlassTask)
    assert (task.losses, task.loss_scale, task.scale) == ("zero-one", 100.0, True)
    assert (task.class_weight, task.intercept_scaling) == ("balanced", 1.0)
    args = build_parser("train").parse_args(["train", "--task", "binary", "--data", "a"])
    assert isinstance(make_task(args), BinaryTask)
    assert make_task(parsed("--no-intercept")).intercept_scaling == 0
    assert make_task(parsed("--intercept-scaling", "3")).intercept_scaling == 3


def test_class_weights_name_labels_of_any_kind():
    kind = ClassWeight()
    assert kind.read('1=2,-0.5=3,spam=1,"7"=4') == {1: 2, -0.5: 3, "spam": 1, "7": 4}
    with pytest.raises(Unfit):
        kind.read("1:2")


@pytest.mark.parametrize("text", ["0,1,4\n1,0,1\n4,1,0\n", "# costs\n0 1 4\n\n1 0 1\n4 1 0"])
def test_a_cost_matrix_is_read_from_a_file(text, tmp_path):
    path = tmp_path / "costs"
    path.write_text(text)
    expected = np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    assert np.array_equal(make_task(parsed("--loss", str(path))).losses, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [("0 1\n1\n", "line 2: 1 numbers, expected 2"), ("0 x\n", "line 1"), ("\n", "no numbers")],
)
def test_a_bad_cost_matrix_is_refused_with_its_line(text, message, tmp_path):
    path = tmp_path / "costs"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        cost_matrix(str(path))
    with pytest.raises(ConfigError, match="no such file"):
        cost_matrix(str(tmp_path / "missing"))


# --- data ----------------------------------------------------------------------------------


@pytest.fixture
def a_table(tmp_path, monkeypatch):
    """A file a.svm in the current folder, which is only looked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1\n")


@pytest.mark.usefixtures("a_table")
def test_columns_mean_parquet_and_have_the_names_that_open_data_takes():
    words = ["--label-column", "y", "--feature-columns", "a, b", "--weight-column", "c"]
    assert data_options(parsed(*words), MulticlassTask()) == {
        "label": "y", "columns": ["a", "b"], "weight": "c", "format": "parquet",
    }  # fmt: skip
    assert data_options(parsed("--features-column", "f"), MulticlassTask())["features"] == "f"
    assert data_options(parsed("--float32"), MulticlassTask()) == {
        "dtype": "float32",
        "format": "svmlight",
    }
    assert data_options(parsed("--format", "libsvm"), MulticlassTask()) == {"format": "libsvm"}
    assert data_options(parsed(), MulticlassTask()) == {}


@pytest.mark.usefixtures("a_table")
@pytest.mark.parametrize("other", [["--float32"], ["--format", "svmlight"]])
def test_columns_are_refused_for_svmlight(other):
    with pytest.raises(ConfigError):
        data_options(parsed("--label-column", "y", *other), MulticlassTask())
