"""Verbs for the runs of a service, over HTTP."""

from __future__ import annotations

import argparse
import time
from typing import Any

from distsvm.cli import exits
from distsvm.cli.config_file import config_text
from distsvm.cli.formatting import pairs, table
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.run_table import HEAD, cells_of, rows_of
from distsvm.errors import ConfigError
from distsvm.kinds import text as text_kind
from distsvm.service.client import Client
from distsvm.training.config import TrainConfig

CHANGEABLE = TrainConfig.FREE - {"run_dir"}
GOING = ("waiting", "starting", "running")
LOOK_S = 0.5
COLUMNS = ("round", "gap", "C", "eps", "rel_gap", "elapsed_s", "age_s")


def add_service(parser: Parser) -> None:
    parser.general.flag(
        "--service", text_kind, metavar="URL",
        help="address of a 'distsvm service', such as http://127.0.0.1:8300, and RUN is the name "
        "of a run there. DISTSVM_SERVICE_TOKEN or DISTSVM_SERVICE_TOKEN_FILE gives its token",
    )  # fmt: skip


def submit(args: argparse.Namespace, output: Output, wanted: argparse.Namespace) -> int:
    """Begin a run with the configuration of `wanted`, whose paths are those of the service."""
    if hasattr(wanted, "run_dir"):
        raise ConfigError("--run-dir: a service chooses the folder; --name names the run")
    run = Client(args.service).submit(config_text("train", wanted.own, wanted), args.name)
    output.record("run", run)
    output.say(f"run {run['name']} {run['state']} at {args.service}")
    return exits.DONE if args.detach else _follow(Client(args.service), output, run["name"])


def runs(args: argparse.Namespace, output: Output) -> int:
    found = Client(args.service).runs()
    for run in found:
        output.record("run", run)
    rows = [[run["name"], *cells_of(_filled(run))] for run in found]
    if rows:
        output.show(*table(list(HEAD), rows, output.style))
    else:
        output.show(f"no runs at {args.service}")
    return exits.DONE


def status(args: argparse.Namespace, output: Output) -> int:
    if args.run is None:
        return runs(args, output)
    run = Client(args.service).run(args.run)
    output.record("run", run)
    facts = _filled(run) | {"path": run["name"], "state_in_words": _in_words(run)}
    output.show(*pairs(rows_of(facts), output.style, output.width))
    return exits.DONE


def logs(args: argparse.Namespace, output: Output) -> int:
    client = Client(args.service)
    if args.follow:
        return _follow(client, output, args.job)
    found = client.logs(args.job)
    output.record("log", {"id": args.job, "text": found})
    if not output.json:
        output.data(found)
    return exits.DONE


def stop(args: argparse.Namespace, output: Output) -> int:
    client, until = Client(args.service), time.monotonic() + args.wait
    run = client.stop(args.run)
    while run["state"] in GOING and time.monotonic() < until:
        time.sleep(LOOK_S)
        run = client.run(args.run)
    output.record("stop", {"run": run["name"], "state": run["state"]})
    ended = run["state"] not in GOING
    output.say(f"run {run['name']} " + (run["state"] if ended else "will end after its round"))
    return exits.DONE


def resume(args: argparse.Namespace, output: Output) -> int:
    """Resume a run with the given options."""
    changes = {}
    for key, flag in args.own.flags.items():
        if flag.dest in CHANGEABLE and hasattr(args, flag.dest):
            value = getattr(args, flag.dest)
            changes[key] = "none" if value is None else flag.option.kind.to_toml(value)
    run = Client(args.service).resume(args.run_dir, **changes)
    output.record("run", run)
    output.say(f"run {run['name']} {run['state']} at {args.service}")
    return exits.DONE


def _follow(client: Client, output: Output, name: str) -> int:
    """Show a run's log until the run ends; Ctrl-C only detaches."""
    at = 0
    try:
        while True:
            run = client.run(name)
            text, at = client.log_part(name, at)
            if text and output.json:
                output.record("log", {"text": text})
            elif text:
                output.data(text)
                output.stdout.flush()
            if run["state"] not in GOING and not text:
                break
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        output.note(f"the run {name} goes on at {client.address}")
        return exits.INTERRUPTED
    output.record("end", run)
    output.say(f"run {name} {_in_words(run)}")
    if run["state"] == "finished":
        return exits.DONE
    return exits.STOPPED_EARLY if run["state"] == "stopped" else exits.JOB_FAILED


def _filled(run: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | {"task": "–"} | run


def _in_words(run: dict[str, Any]) -> str:
    if run.get("waits"):
        return f"waiting, number {run['waits']} in the queue"
    if run.get("error"):
        return f"{run['state']}: {run['error']['message']}"
    return run.get("state_in_words") or run["state"]
