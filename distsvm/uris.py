"""URIs: how to recognize one, the store that it names, and errors that name it.

fsspec finds credentials by itself (in its configuration, the environment, the cloud's own files);
this package never handles them. A URI must name the same file on every worker; memory:// has files
of one process only.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from distsvm.errors import ConfigError, DistSVMError

GIVE_IT = (
    "give it to fsspec, whose configuration is in ~/.config/fsspec and the environment (such as "
    'FSSPEC_HTTP={"client_kwargs": {"headers": {"Authorization": "Bearer …"}}})'
)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
FILE = "file://"
LOCALHOST = "localhost"


def is_uri(path: str) -> bool:
    """Return whether a path names a file by a scheme other than file://."""
    return bool(SCHEME.match(path)) and not path.lower().startswith(FILE)


def local_path(path: str) -> str:
    """Return the path of a file:// URI, without the host localhost; other paths unchanged."""
    if not path.lower().startswith(FILE):
        return path
    path = path[len(FILE) :]
    return path[len(LOCALHOST) :] if path.lower().startswith(f"{LOCALHOST}/") else path


def check_secretless(uri: str) -> None:
    """Refuse a URI that has a secret, or may have one, without showing it.

    A run's folder names its data for `resume`, so the whole URI would be in its files. On the web a
    user's name may be a token, and a query (after ?) a signature. Elsewhere ? belongs to patterns,
    unless an = follows.
    """
    # fsspec chains URIs, such as zip://a::https://b.
    for part in filter(SCHEME.match, uri.split("::")):
        found = _parts(part)
        web = found.scheme in ("http", "https")
        if found.password or (web and found.username):
            raise ConfigError(
                f"a URI with a password in it, or a user's name: leave it out and {GIVE_IT}"
            )
        if found.query and (web or "=" in found.query):
            raise ConfigError(
                "a URI with a query in it (?…), which may be a token or a signature and would be "
                f"written into the run's files: leave it out and {GIVE_IT}; or copy the file to a "
                "disk or a bucket first"
            )


def _parts(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError as error:  # such as a bracket that is not closed; the error may show it all
        raise ConfigError("not a URI: its host cannot be read") from error


def store_of(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path there."""
    check_secretless(uri)
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ConfigError(f'{uri}: URIs need fsspec: pip install "distsvm[remote]"') from error
    try:
        return url_to_fs(uri)
    except ImportError as error:
        raise ConfigError(f'{uri}: {error}; pip install "distsvm[remote]"') from error
    except ValueError as error:
        raise ConfigError(f"{uri}: {error}") from error


@contextmanager
def errors_of(uri: str, kind: type[DistSVMError], what: str = "read") -> Iterator[None]:
    """Turn failures inside, which have many types, into errors of this kind that name the URI."""
    here = platform.node()
    try:
        yield
    except DistSVMError:
        raise
    except FileNotFoundError as error:
        if uri.startswith("memory:"):
            raise kind(
                f"{uri}: not in the memory of this process; memory:// is for executors serial and "
                "threads, processes and Ray need files that every worker can open"
            ) from error
        why = f" ({error.__cause__})" if error.__cause__ else ""
        raise kind(f"{uri}: no such file, folder or bucket, asked from {here}{why}") from error
    except PermissionError as error:
        raise kind(f"{uri}: access was refused to {here} ({error})") from error
    except Exception as error:
        name = type(error).__name__
        raise kind(f"{uri}: cannot be {what} from {here} ({name}: {error})") from error
