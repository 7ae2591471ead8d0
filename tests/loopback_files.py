"""Loopback servers: of a folder's files by HTTP, with and without ranges, and of buckets."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Files(http.server.SimpleHTTPRequestHandler):
    """Sends parts of files, as web servers and object stores do."""

    ranges = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if not (self.ranges and wanted and path.is_file()):
            super().do_GET()
            return
        content = path.read_bytes()
        first = int(wanted[1])
        part = content[first : int(wanted[2]) + 1 if wanted[2] else None]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def end_headers(self) -> None:
        self.send_header("Accept-Ranges", "bytes" if self.ranges else "none")
        super().end_headers()


class NoRanges(Files):
    ranges = False


@contextmanager
def served(folder: Path, handler: type[Files] = Files) -> Iterator[str]:
    """The address of a server of this folder."""
    make = functools.partial(handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), make) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def buckets() -> Iterator[Any]:
    """An S3 that this process and its workers take for the real one."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    moto = pytest.importorskip("moto.server", reason="moto and flask are not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        here = {"endpoint_url": f"http://127.0.0.1:{port}", "key": "k", "secret": "s"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(fsspec.config.conf, "s3", here)
            for name, value in here.items():
                patch.setenv(f"FSSPEC_S3_{name.upper()}", value)
            yield fsspec.filesystem("s3")
    finally:
        server.stop()
