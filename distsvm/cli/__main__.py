"""`python -m distsvm.cli`, the same as the command `distsvm`."""

from __future__ import annotations

import sys

from distsvm.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
