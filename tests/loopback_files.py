"""A loopback HTTP server of a folder's files, with and without ranges."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
