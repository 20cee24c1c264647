"""The door to what people do to jobs: cancel, retry, unpark, delete; and to workers: dismiss."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from holdfast.store.redis import rows
from holdfast.store.redis.directory import Place, places
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.relay import forget, rouse
from holdfast.store.redis.roster import Roster

SLICE: Final = 500
"""How many jobs one script takes: a bound on how long the server does nothing else."""


class RedisOperator:
    """What people do to jobs; see `protocol.Operator`."""

    def __init__(self, link: Link, roster: Roster) -> None:
        self._link = link
        self._roster = roster

    def cancel(self, ids: Iterable[str], now_us: int | None = None) -> dict[str, str]:
        answers = dict.fromkeys(ids, "unknown")
        for place, answer in self._each("cancel", list(answers), now_us):
            answers[place.id] = answer.decode()
        if "asked" in answers.values():
            rouse(self._link)
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        return self._effective("retry", list(dict.fromkeys(ids)), now_us)

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        return self._effective("unpark", list(seals), now_us, seals)

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        wanted = list(dict.fromkeys(ids))
        gone = {place.id: place.stamp for place, answer in self._each("delete", wanted, now_us) if answer}
        forget(self._link, list(gone.items()))
        return [job_id for job_id in wanted if job_id in gone]

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        asked = self._roster.dismiss(list(dict.fromkeys(workers)), now_us)
        if asked:
            rouse(self._link)
        return asked

    def _effective(
        self, act: str, ids: list[str], now_us: int | None, seals: dict[str, bytes | None] | None = None
    ) -> list[str]:
        done = {place.id for place, answer in self._each(act, ids, now_us, seals) if answer}
        return [job_id for job_id in ids if job_id in done]

    def _each(
        self, act: str, ids: list[str], now_us: int | None, seals: dict[str, bytes | None] | None = None
    ) -> Iterator[tuple[Place, Any]]:
        """Do it to each job that is found, queue by queue. Give what each answered."""
        self._link.check_open()
        for start in range(0, len(ids), SLICE):
            groups = places(self._link, ids[start : start + SLICE])
            calls = [Call(act, queue, (rows.pack(_args(group, seals)),)) for queue, group in groups.items()]
            for group, answers in zip(groups.values(), self._link.run(calls, now_us), strict=True):
                yield from zip(group, answers, strict=True)


def _args(group: list[Place], seals: dict[str, bytes | None] | None) -> list[tuple[Any, ...]]:
    if seals is None:
        return [(place.stamp, place.id) for place in group]
    return [(place.stamp, place.id, rows.raw(seals[place.id])) for place in group]
