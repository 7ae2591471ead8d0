"""The report of a run: one HTML file that opens offline."""

from __future__ import annotations

from pathlib import Path

from distsvm.errors import DAMAGE, CheckpointError
from distsvm.report.page import page
from distsvm.report.view import read_run
from distsvm.storage import Place, Where, place, write_bytes

__all__ = ["write_report"]


def write_report(run_dir: Where, output: Where | None = None) -> Place:
    """Write the report of a run, finished or not, as one self-contained HTML file.

    Parameters
    ----------
    run_dir : path or URI
        The folder of a run; any other folder raises a CheckpointError.
    output : path or URI, optional
        The file to write. Default: report.html in the run's folder.

    Returns
    -------
    Path, or the place in a store
        The file, written in one step.
    """
    view = read_run(run_dir)
    path = view.path / "report.html" if output is None else place(output)
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = page(view)
    except DAMAGE as error:
        raise CheckpointError(f"{view.path} is damaged: {error!r}") from error
    # A path may hold bytes that are not UTF-8.
    write_bytes(path, text.encode("utf-8", "replace"), private=output is None)
    return path
