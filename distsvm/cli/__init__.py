"""The command line: `distsvm VERB …`, one module a verb."""

from __future__ import annotations

from distsvm.cli.program import main

__all__ = ["main"]
