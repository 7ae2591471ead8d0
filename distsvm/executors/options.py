"""The options of executors, which are checked where an executor is made."""

from __future__ import annotations

from dataclasses import dataclass

from distsvm.executors.recovery import Limits
from distsvm.kinds import amounts, number, text
from distsvm.options import option


@dataclass(frozen=True)
class RayOptions(Limits):
    """The options of executor "ray"."""

    address: str | None = option(
        None, kind=text, metavar="HOST:PORT", of=("ray",),
        help="of a running Ray cluster, or auto; means executor ray. RAY_ADDRESS counts too. A "
        "session that this process already has is used in any case",
    )  # fmt: skip
    resources_per_worker: dict[str, float] | None = option(
        None, kind=amounts, flag="--resources", metavar="NAME=N,…", of=("ray",), usual="CPU=1",
        help="what one worker needs",
    )  # fmt: skip
    placement_timeout_s: float = option(
        60.0, kind=number(least=0, infinite=True), flag="--placement-timeout", metavar="S",
        unit="s", of=("ray",),
        help="seconds to wait for the cluster's address to answer, and then for the next worker "
        "to be placed",
    )  # fmt: skip


EXECUTOR_OPTIONS: dict[str, type[Limits]] = {
    "serial": Limits,
    "threads": Limits,
    "processes": Limits,
    "ray": RayOptions,
}
"""Serial and threads check these options and do not use them, as they lose no worker."""
