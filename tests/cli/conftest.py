"""Small files and a model to give to the command line."""

import pytest
from cli_files import Files, blobs, train_args

from distsvm.cli import main
from distsvm.data.writers import write_svmlight


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("cli")
    X, y = blobs(300, 0)
    X_test, y_test = blobs(90, 1)
    paths = [str(home / name) for name in ("train.svm", "test.svm", "model")]
    write_svmlight(paths[0], X, y)
    write_svmlight(paths[1], X_test, y_test)
    assert main(train_args(paths[0], "--model", paths[2], "--quiet")) == 0
    return Files(X, y, X_test, y_test, *paths)
