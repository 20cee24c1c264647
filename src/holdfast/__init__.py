"""Holdfast: a job queue and scheduler. One file to start, one URL to grow, no job lost."""

from holdfast.app.app import Holdfast
from holdfast.app.breaker import Breaker
from holdfast.app.call import Call
from holdfast.app.handle import Job
from holdfast.app.task import Task
from holdfast.app.taskset import TaskSet
from holdfast.errors import (
    ArgumentMismatch,
    Cancel,
    DeclarationError,
    DecodingFailed,
    DuplicateJob,
    DuplicateTask,
    HoldfastError,
    InvalidInput,
    InvalidName,
    JobCancelled,
    JobExpired,
    JobFailed,
    JobNotFound,
    LeaseLost,
    NoResult,
    NotEncodable,
    NotIncluded,
    PayloadTooLarge,
    QueueFull,
    RateLimited,
    Refused,
    ResultGone,
    ResultTimeout,
    Retry,
    RunControl,
    SchemaTooNew,
    SealBroken,
    ShapeMismatch,
    Snooze,
    StoreClosed,
    StoreError,
    StoreUnavailable,
    StoreUnsafe,
    TaskTimeout,
    UnknownOption,
    UnknownTask,
)
from holdfast.run.context import RunningJob, current_job

__version__ = "0.1.0"

__all__ = [
    # what a program makes and holds
    "Holdfast", "Task", "TaskSet", "Call", "Job", "Breaker",
    # inside a task
    "current_job", "RunningJob", "Retry", "Snooze", "RateLimited", "Cancel", "RunControl", "TaskTimeout",
    # errors
    "HoldfastError",
    "InvalidInput", "UnknownOption", "InvalidName", "ArgumentMismatch", "NotEncodable", "PayloadTooLarge",
    "DeclarationError", "DuplicateTask", "UnknownTask", "NotIncluded", "ShapeMismatch",
    "Refused", "DuplicateJob", "QueueFull",
    "NoResult", "JobFailed", "JobCancelled", "JobExpired", "JobNotFound", "ResultGone", "ResultTimeout",
    "StoreError", "StoreUnavailable", "StoreUnsafe", "SchemaTooNew", "StoreClosed",
    "LeaseLost", "SealBroken", "DecodingFailed",
    "__version__",
]  # fmt: skip
