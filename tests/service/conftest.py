import pytest
from serving import HeldRun, service_of


@pytest.fixture
def served(tmp_path):
    yield from service_of(tmp_path)


@pytest.fixture
def rows(served):
    """The options of a run that ends within a second."""
    return {"task": "multiclass", "data": [str(served.data / "rows.svm")], "executor": "serial"}


@pytest.fixture
def held(served):
    return HeldRun(served.data)
