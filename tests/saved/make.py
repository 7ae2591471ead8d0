"""Write runs as today's code makes them: python tests/saved/make.py tests/saved/interrupted-N

Each run is stopped after some rounds, so that its last checkpoint is in the middle of the work;
expected.json has what its model predicts, and the end of the same run where nothing stops it.
What is stored stays as it is: a later format gets a folder of its own. Of the runs in runs-1, which
are older, no end is stored.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from comparing import arithmetic, lines_of, plain
from interrupted_runs import ENDED, PLACE, RUNS, STOPPED, end_of, write_data


def main(folder: Path) -> None:
    """Work in a folder for temporary files, so that no name of this machine is stored."""
    folder.mkdir()
    write_data(folder / "data")
    expected: dict[str, Any] = {"arithmetic": arithmetic()}
    for run in RUNS:
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            write_data(home / "data")
            run.start(home, max_rounds=STOPPED)
            (home / str(run) / "state.json").unlink()  # it names this machine
            run.move(home, folder, (name, PLACE))
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            write_data(home / "data")
            result = run.start(home, max_rounds=ENDED)
        expected[str(run)] = {"predictions": plain(run.predict(folder)), "end": end_of(result)}
    (folder / "expected.json").write_text(lines_of(expected))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
