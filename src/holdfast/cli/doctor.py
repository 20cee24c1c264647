"""`holdfast doctor`: look at everything that has to be right, and say what to do about what is not."""

from collections.abc import Iterator

import click

from holdfast import __version__
from holdfast.cli.checks_host import check_app, check_python, check_secret
from holdfast.cli.checks_store import check_store
from holdfast.cli.output import print_json
from holdfast.cli.shared import given, is_json, shared
from holdfast.cli.source import check_there, opened, source
from holdfast.errors import HoldfastError
from holdfast.model.finding import Finding
from holdfast.run.evidence import visible

_STYLES = {"ok": "green", "warn": "yellow", "FAIL": "red"}


@click.command()
@shared
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check the installation, the app and the store.

    What is not ok comes with a remedy. Exit code 1 if something has to be done (FAIL), 0 with warnings.

    \b
    Examples:
      holdfast doctor --url sqlite:///jobs.db
      holdfast doctor --app shop.tasks:app --json
    """
    findings = list(_examine())
    worst = "FAIL" if any(finding.level == "FAIL" for finding in findings) else "ok"
    if is_json():
        told = [{"level": f.level, "what": f.what, "detail": f.detail, "remedy": f.remedy} for f in findings]
        print_json({"version": __version__, "is_healthy": worst == "ok", "findings": told})
    else:
        for finding in findings:
            _say(finding)
    ctx.exit(1 if worst == "FAIL" else 0)


def _examine() -> Iterator[Finding]:
    yield check_python()
    if app := check_app():
        yield app
        if app.level == "FAIL" and given("app"):
            return  # the store and the secret are the app's to name
    yield check_secret()
    try:
        found = source()
        check_there(found)
        with opened() as store:
            yield from check_store(store)
    except HoldfastError as error:
        yield Finding("FAIL", "store", "cannot be used", str(error))


def _say(finding: Finding) -> None:
    level = click.style(f"{finding.level:<5}", fg=_STYLES[finding.level], bold=True)
    click.echo(f"{level} {finding.what:<12} {visible(finding.detail)}")
    if finding.remedy:
        click.echo(f"{'':<18} → {visible(finding.remedy)}")
