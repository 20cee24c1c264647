"""What the worker command logs, and how: a line for people, or a JSON object a line, tied to the run it came from.

The library never configures logging; the command does, in the supervisor and in every child.
"""

import json
import logging
import sys
import time
from typing import Any, Final

from holdfast.run.context import running_job
from holdfast.run.evidence import visible

_LINE: Final = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"
_OF_THE_RUN: Final = ("job_id", "task", "attempt")


def set_up_logs(level: str, *, is_json: bool) -> None:
    """Log to standard error from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if is_json else Lines(_LINE))
    handler.addFilter(_tie_to_run)
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _tie_to_run(record: logging.LogRecord) -> bool:
    """Note on a record which run it came from, whoever wrote it."""
    job = running_job()
    if job is not None and not hasattr(record, "job_id"):
        record.job_id, record.task, record.attempt = job.id, job.task, job.attempt
    return True


class Lines(logging.Formatter):
    """One line for people; what comes from a run ends with its job. Nothing a job brought along steers the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        line = super().formatMessage(record)
        job_id = getattr(record, "job_id", None)
        return line if job_id is None else f"{line} [job {job_id}, {record.task}, run {record.attempt}]"  # type: ignore[attr-defined]


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, pid, and the run if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        document: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        for name in _OF_THE_RUN:
            if (value := getattr(record, name, None)) is not None:
                document["run" if name == "attempt" else name] = value
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False, default=str)
