"""How far a job is, as its task tells it: a bar, a share and a few words, in one line."""

import sys
from typing import Final

from holdfast.model.job import JobRecord

_WIDTH: Final = 20


def how_far(job: JobRecord) -> str:
    """Give bar, share and note, as far as the task has told them."""
    return "  ".join(part for part in (bar(job.progress), note(job)) if part)


def bar(fraction: float | None, width: int = _WIDTH) -> str:
    """Give `━━━━━━━━──────────── 42%`; nothing if nothing is known. Plain ASCII where the output knows no more."""
    if fraction is None:
        return ""
    share = min(max(fraction, 0.0), 1.0)
    done, left = _marks()
    full = int(share * width)  # never rounded up: a full bar is a job that says it is done
    return f"{done * full}{left * (width - full)} {int(share * 100):>2}%"


def note(job: JobRecord) -> str:
    """Give the task's words in one line."""
    return " ".join((job.progress_note or "").split())


def _marks() -> tuple[str, str]:
    try:
        "━─".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#", "-"
    return "━", "─"
