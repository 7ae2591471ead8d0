"""A small mutational fuzzer: seeded changes of bytes and of JSON, bounded by time and by number."""

from __future__ import annotations

import copy
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = float(os.environ.get("DISTSVM_FUZZ_SECONDS", "0.6"))
"""How long each target is fuzzed; some seconds in all where nothing else is asked for."""
SEED = int(os.environ.get("DISTSVM_FUZZ_SEED", "0"))
LEAST = 8  # attempts, however slow the machine is
# Nor more, however fast it is, unless the time is given: a test does the same everywhere.
MOST = None if "DISTSVM_FUZZ_SECONDS" in os.environ else 200
MEMORY = 6 << 30  # bytes of address space, far above what any target needs

# What readers like to trip over.
TOKENS = [
    b"", b"\0", b"\n", b"\n\n", b"\r\n", b" ", b"\t", b"(", b")", b"((", b"))", b":", b"#", b"-",
    b"1", b"0", b"-1", b"1e999", b"nan", b"inf", b"99999999999999999999", b"1:1", b"qid:1", b"qid:",
    b"_", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"-DOCSTART-", b"1-2", b"1.1", b"# text",
    b"[", b"{", b"=", b"'''", b"-NONE-", b"(-NONE- *)",
]  # fmt: skip
VALUES = [
    None, True, False, 0, 1, -1, 2, 10**9, -(10**30), 0.5, float("nan"), float("inf"), "", "x",
    "é\0", [], {}, [[]], [0], ["x"], {"tuple": []}, {"array": [1], "dtype": "<i8"}, {"dict": []},
    {"array": ["a"], "dtype": "<U900000000"}, {"array": [0], "dtype": "V900000000"},
    {"array": [None], "dtype": "|O"}, {"set": [1]}, {"tuple": ["TOP -> S", "S -> 'x'"]},
]  # fmt: skip


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """The bytes after one to six changes."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        place = rng.randint(0, len(data))
        stop = min(len(data), place + int(rng.expovariate(0.1)))
        change = rng.randrange(6)
        if change == 0 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif change == 1:
            data[place:place] = rng.choice(TOKENS)
        elif change == 2:
            del data[place:stop]
        elif change == 3:
            data[place:stop] = rng.choice(TOKENS)
        elif change == 4:
            data[place:place] = data[place:stop] * rng.choice([1, 2, 50])
        else:
            other = rng.randint(0, len(data))
            data[place:place] = seed[other : other + 40]
    return bytes(data)


def mutated_json(seed: Any, rng: random.Random) -> Any:
    """The JSON value with one to three of its parts replaced, doubled or left out."""
    data = copy.deepcopy(seed)
    for _ in range(rng.randint(1, 3)):
        places = list(_places(data))
        if not places:
            return rng.choice(VALUES)
        parent, key = rng.choice(places)
        change = rng.randrange(4)
        if change == 0:
            del parent[key]
        elif change == 1 and isinstance(parent[key], str):
            parent[key] = mutated(parent[key].encode(), rng).decode("utf-8", "replace")
        elif change == 2:
            other, its_key = rng.choice(places)
            parent[key] = copy.deepcopy(other[its_key])
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    stack = [data]
    while stack:
        one = stack.pop()
        keys = range(len(one)) if isinstance(one, list) else list(one)
        for key in keys:
            yield one, key
            if isinstance(one[key], (list, dict)):
                stack.append(one[key])


def fuzz(attempt: Callable[[random.Random], None], allowed: type[Exception]) -> None:
    """Call `attempt` with ever new seeds until the time is over.

    Whatever it raises but `allowed` fails, and says the seed: `attempt(random.Random(seed))` does
    it again.
    """
    until, number = time.monotonic() + SECONDS, 0
    with limited_memory():
        while number != MOST and (number < LEAST or time.monotonic() < until):
            seed = f"{SEED}-{number}"
            try:
                attempt(random.Random(seed))
            except allowed:
                pass
            except Exception as error:
                raise AssertionError(f"seed {seed!r}: {type(error).__name__}: {error}") from error
            number += 1


@contextmanager
def limited_memory() -> Iterator[None]:
    """A limit on the address space, so that a claim of much memory fails and does not kill."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
