"""The picture of a run: one HTML file that opens offline."""

from __future__ import annotations

import os
from pathlib import Path

from distsvm.errors import DAMAGE, CheckpointError
from distsvm.report.page import page
from distsvm.report.view import RunView, read_run
from distsvm.storage import new_file

__all__ = ["write_report"]


def write_report(run_dir: str | Path, output: str | Path | None = None) -> Path:
    """Write the report of a run, finished or not, as one self-contained HTML file.

    Parameters
    ----------
    run_dir : str or Path
        The folder of a run; another folder is refused with a CheckpointError.
    output : str or Path, optional
        The file to write. Default: report.html in the run's folder.

    Returns
    -------
    Path
        The file, written aside and renamed.
    """
    view = read_run(run_dir)
    path = view.path / "report.html" if output is None else Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.part")
    # A path with bytes that are no text must not keep the rest from being seen.
    text = _page(view).encode("utf-8", "replace")
    with new_file(aside) as file:
        file.write(text)
    os.replace(aside, path)
    return path


def _page(view: RunView) -> str:
    try:
        return page(view)
    except DAMAGE as error:
        raise CheckpointError(f"{view.path} is damaged: {error!r}") from error
