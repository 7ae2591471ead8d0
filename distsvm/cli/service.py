"""`distsvm service`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsvm.cli import exits
from distsvm.cli.models import file_of, load_class
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import Several, files, path, text, truth, whole
from distsvm.storage import new_folder, read_json

if TYPE_CHECKING:
    from distsvm.service.serving import Service

PORT = 8300
OWN = ".service"


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm service --runs DIR [options]"
    parser.description = (
        "Serve the runs in a folder over HTTP: begin, watch, stop, resume and delete runs, and\n"
        "ask their models. Runs are processes that go on when the service ends; the next service\n"
        "of the folder finds them again. Everything needs a token, also on this machine; the\n"
        "command prints a link that signs a browser in once."
    )
    general = parser.general
    general.flag("--runs", path, required=True, metavar="DIR", help="the folder of the runs")
    general.flag(
        "--data", files, metavar="DIR", default=[],
        help="folders whose files runs may be trained on, beside the folder of the runs",
    )  # fmt: skip
    general.flag(
        "--tasks", Several(text), metavar="FILE.py:CLASS", default=[],
        help="tasks in Python that requests may use; the service runs no other code",
    )  # fmt: skip
    general.flag(
        "--at-once", whole(least=1), metavar="N", default=1, help="the most runs that run at once"
    )  # fmt: skip
    general.flag(
        "--link", truth,
        help="serve nothing: print a new sign-in link of the service that has these runs",
    )  # fmt: skip
    add_address(parser)


def add_address(parser: Parser) -> None:
    """Add the options of where and how to listen."""
    group = parser.group("address")
    group.flag("--host", text, metavar="HOST", default="127.0.0.1", help="where to listen")
    group.flag(
        "--port", whole(least=0, most=65535), metavar="PORT", default=PORT,
        help="0 takes a free one",
    )  # fmt: skip
    group.flag(
        "--allow-host", Several(text), metavar="NAME", default=[],
        help="names by which other machines ask this one; the local ones need no option",
    )  # fmt: skip
    group.flag("--root-path", text, metavar="PATH", default="",
               help="the path under which a proxy has the service")  # fmt: skip
    group.flag("--certificate", path, metavar="FILE", help="the TLS certificate, with --key")
    group.flag("--key", path, metavar="FILE", help="the key of the certificate")
    group.flag(
        "--token-file", path, metavar="FILE",
        help="the file of the token, which a first start makes with mode 600",
    )  # fmt: skip
    group.flag(
        "--largest-mb", whole(least=1, most=1024), metavar="MB", default=32,
        help="the largest body of a request",
    )  # fmt: skip
    group.flag(
        "--rate", whole(least=1), metavar="N", default=200,
        help="requests in a second by one client, in the mean over ten seconds",
    )  # fmt: skip


def run(args: argparse.Namespace, output: Output) -> int:
    if args.link:
        return _print_link(args, output)
    check_installed()
    from distsvm.oracles.description import saved_name
    from distsvm.service.access import own_token
    from distsvm.service.models import Models
    from distsvm.service.queue import Queue
    from distsvm.service.requests import Allowed
    from distsvm.service.runner import Runner
    from distsvm.service.runs import Runs
    from distsvm.service.serving import Service

    home = Path(args.runs).resolve()
    own = home / OWN
    new_folder(own)
    classes = {name: load_class(name) for name in args.tasks}
    queue = Queue(own / "queue.sqlite")
    try:
        runs = Runs(home, queue, Runner(home, queue, args.at_once))
        allowed = Allowed(
            home, tuple(folder_of(one) for one in args.data), tuple(file_of(one) for one in classes)
        )
        models = Models.of_runs(
            home, runs.names, tasks={saved_name(one): one for one in classes.values()}
        )
        token = own_token(Path(args.token_file or own / "token"))
        served(args, output, Service(models, token, runs, allowed, **limits(args)), own)
    finally:
        queue.close()
    return exits.DONE


def _print_link(args: argparse.Namespace, output: Output) -> int:
    from distsvm.service import Client

    own = Path(args.runs) / OWN
    found = read_json(own / "address.json", ConfigError)
    token = Path(args.token_file or own / "token").read_text(encoding="ascii").strip()
    link = Client(found["address"], token).sign_in_link()
    output.record("link", {"sign_in": link})
    output.say(link)
    return exits.DONE


def served(args: argparse.Namespace, output: Output, service: Service, own: Path | None) -> None:
    """Serve until the command is ended; say the address and a sign-in link."""
    from distsvm.service.server import run as serve

    if (args.certificate is None) != (args.key is None):
        raise ConfigError("--certificate and --key go together")

    def on_start(address: str) -> None:
        link = f"{address}/sign-in?code={service.codes.new()}"
        output.record("service", {"address": address, "sign_in": link})
        output.say(f"serving at {address}", f"sign in, once and within ten minutes: {link}")
        output.stdout.flush()

    serve(
        service, args.host, args.port, certificate=args.certificate, key=args.key,
        address_file=None if own is None else own / "address.json", on_start=on_start,
    )  # fmt: skip


def limits(args: argparse.Namespace) -> dict[str, Any]:
    root = args.root_path.rstrip("/")
    if root and not root.startswith("/"):
        raise ConfigError(f"--root-path {args.root_path}: expected a path that begins with /")
    return {
        "hosts": frozenset(args.allow_host), "largest": args.largest_mb << 20, "rate": args.rate,
        "root_path": root,
    }  # fmt: skip


def check_installed() -> None:
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        raise ConfigError('the service needs its extra: pip install "distsvm[service]"') from error
    assert starlette is not None and uvicorn is not None  # noqa: PT018


def folder_of(given: str) -> Path:
    found = Path(given).resolve()
    if not found.is_dir():
        raise ConfigError(f"--data {given}: expected a folder")
    return found
