"""What the endpoints of one service need."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from distsvm.service.access import Codes
from distsvm.service.models import Models
from distsvm.service.requests import Allowed
from distsvm.service.runs import Runs

OF_MODELS = frozenset({"health", "metrics", "document", "list_models", "model", "predict"})
"""The endpoints of a service without runs."""


@dataclass
class Service:
    """What the endpoints need.

    Parameters
    ----------
    models : Models
    token : str
    runs : Runs or None
        None: a service of models alone.
    allowed : Allowed or None
        What requests for runs may name.
    hosts : set of str
        Host names beside the local ones.
    largest : int
        The most bytes of a body.
    rate : int
        The most requests in a second by one client, in the mean over ten seconds.
    root_path : str
        The path under which a proxy has the service.
    """

    models: Models
    token: str
    runs: Runs | None = None
    allowed: Allowed | None = None
    hosts: frozenset[str] = frozenset()
    largest: int = 32 << 20
    rate: int = 200
    root_path: str = ""
    codes: Codes = field(default_factory=Codes)
    requests: Counter[int] = field(default_factory=Counter)

    def offers(self, name: str) -> bool:
        """Return whether the service has the endpoint of this name."""
        return self.runs is not None or name in OF_MODELS

    @property
    def title(self) -> str:
        return "distsvm" if self.runs is not None else "distsvm models"
