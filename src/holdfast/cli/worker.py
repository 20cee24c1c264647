"""`holdfast worker`: run the jobs of an app until told to stop."""

from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.output import console, plural, print_json
from holdfast.cli.served import SERVED, serve
from holdfast.cli.shared import given, is_json, shared
from holdfast.cli.source import app_target
from holdfast.cli.times import DURATION, SIZE
from holdfast.errors import DeclarationError, HoldfastError, InvalidInput

if TYPE_CHECKING:
    from holdfast.worker.command import WorkerStart
    from holdfast.worker.plan import Plan

_TRACEBACK = "\n\nTraceback"
_LEVELS = ("debug", "info", "warning", "error")


@click.command()
@click.argument("target", metavar="[MODULE:APP]", required=False)
@click.option("--queues", metavar="A:4,B", help="Serve only these, with weights if you like. Default: all, in turn.")
@click.option("--strict", is_flag=True, help="Serve a queue only when those before it have nothing.")
@click.option(
    "--processes", "-p", type=click.IntRange(1), default=1, show_default=True, help="Processes that run jobs."
)
@click.option("--threads", type=click.IntRange(0), default=0, show_default=True, help="Sync jobs at once, each.")
@click.option("--coroutines", type=click.IntRange(1), default=100, show_default=True, help="Async jobs at once, each.")
@click.option("--lease", type=DURATION, default="10s", show_default=True, help="How long its silence is believed.")
@click.option("--grace", type=DURATION, default="25s", show_default=True, help="How long running jobs may end in.")
@click.option("--max-runs", type=click.IntRange(1), metavar="N", help="Replace a process after so many jobs.")
@click.option("--max-rss", type=SIZE, metavar="SIZE", help="Replace a process that has grown beyond this, e.g. 500M.")
@click.option("--max-age", type=DURATION, help="Replace a process that is older than this.")
@click.option("--reload", "reloads", is_flag=True, help="Replace the processes when source files change.")
@click.option("--health", metavar="[HOST:]PORT", help="Tell over HTTP how it is: /live, /ready and /metrics.")
@click.option("--burst", is_flag=True, help="End when nothing is left to do.")
@click.option(
    "--log-level",
    type=click.Choice(_LEVELS, case_sensitive=False),
    default="info",
    show_default=True,
    help="The least important messages to log, on standard error.",
)
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
@shared
@click.pass_context
def worker(ctx: click.Context, /, target: str | None, queues: str | None, **options: Any) -> None:
    """Run the jobs of an app.

    SIGTERM or Ctrl-C lets running jobs end (up to --grace), a second one hands them back at once. SIGUSR1 prints all
    stacks, SIGTTIN and SIGTTOU add and remove a process.
    Exit codes: 0 stopped in order, 1 could not start, 3 running jobs were handed back.

    \b
    Examples:
      holdfast worker shop.tasks:app --processes 4
      holdfast worker shop.tasks:app --queues mail,default --burst
      holdfast worker shop.tasks:app --queues critical:4,default:2,bulk:1
    """
    from holdfast.worker.command import run_worker  # loads the supervisor
    from holdfast.worker.logs import set_up_logs

    app = target or app_target()
    if app is None:
        raise InvalidInput("no app was named: give MODULE:APP, e.g. shop.tasks:app, or set HOLDFAST_APP")
    settings = {name: value for name in ("url", "namespace") if (value := given(name))}
    plan = _plan(serve(app, settings), _shares(queues), options)
    set_up_logs(plan.log_level, is_json=plan.logs_json)
    try:
        code = run_worker(plan, _announce)
    except HoldfastError as error:
        if _TRACEBACK not in str(error):
            raise
        raise _in_short(error, app) from error
    ctx.exit(code)


def _plan(target: str, shares: dict[str, int], options: dict[str, Any]) -> "Plan":
    from holdfast.worker.plan import Plan  # loads msgspec

    return Plan(
        target,
        processes=options["processes"],
        threads=options["threads"],
        coroutines=options["coroutines"],
        queues=tuple(shares),
        weights=shares if len(set(shares.values())) > 1 else {},
        is_strict=options["strict"],
        is_burst=options["burst"],
        lease_s=options["lease"],
        grace_s=options["grace"],
        max_runs=options["max_runs"] or 0,
        max_rss_bytes=options["max_rss"] or 0,
        max_age_s=options["max_age"] or 0.0,
        reloads=options["reloads"],
        log_level=options["log_level"].upper(),
        logs_json=options["log_json"],
        health=options["health"] or "",
    )


def _shares(queues: str | None) -> dict[str, int]:
    from holdfast.policy.shares import parse_shares  # loads msgspec

    return {} if queues is None else parse_shares(queues)


def _in_short(error: HoldfastError, app: str) -> HoldfastError:
    """Give an error without the traceback that a child sent along: a mistyped name deserves a sentence."""
    sentence = str(error).partition(_TRACEBACK)[0].replace(SERVED, app)
    return DeclarationError(f"{sentence}; check the name and the working directory, or see where with --debug")


def _announce(start: "WorkerStart") -> None:
    if is_json():
        print_json(_document(start))
        return
    screen = console(stderr=True)
    screen.print(f"holdfast worker {start.worker}", style="bold")
    for name, value in _lines(start).items():
        screen.print(f"  {name:<10}{value}")
    if not start.is_signed and start.store.kind not in ("sqlite", "memory"):
        screen.print("  warning   jobs are not signed: who can write to the store can run tasks; set HOLDFAST_SECRET")


def _lines(start: "WorkerStart") -> dict[str, str]:
    shown = ", ".join(start.tasks[:5]) + (" …" if len(start.tasks) > 5 else "")
    lines = {
        "store": f"{start.store.kind} {start.store.where} ({start.store.tier})",
        "tasks": f"{len(start.tasks)}: {shown}" if start.tasks else "none: does the module import the ones it should?",
        "queues": _shown_queues(start),
        "runs in": plural(start.processes, "process") if start.processes == 1 else f"{start.processes} processes",
        "signed": "yes" if start.is_signed else "no",
    }
    return lines if start.health is None else {**lines, "health": start.health}


def _shown_queues(start: "WorkerStart") -> str:
    if not start.queues:
        return "all"
    shown = ", ".join(f"{name}:{start.weights[name]}" if start.weights else name for name in start.queues)
    return f"{shown} (strictly in this order)" if start.is_strict else shown


def _document(start: "WorkerStart") -> dict[str, object]:
    document: dict[str, object] = {
        "worker": start.worker,
        "store": {"kind": start.store.kind, "where": start.store.where, "tier": start.store.tier},
        "tasks": list(start.tasks),
        "queues": list(start.queues),
        "weights": start.weights,
        "is_strict": start.is_strict,
        "processes": start.processes,
        "threads": start.threads,
        "is_signed": start.is_signed,
    }
    return document if start.health is None else {**document, "health": start.health}
