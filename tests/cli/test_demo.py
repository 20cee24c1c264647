"""`holdfast demo`: it ends by itself, its count is right, a wrong one is not passed over, and it leaves nothing behind."""

import os
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from holdfast.cli import demo, demo_report, demo_tasks
from holdfast.cli.demo_plan import KINDS, TOTAL
from holdfast.cli.demo_report import Report, report
from holdfast.cli.demo_tally import Tally
from tests.cli.conftest import command, environment, run, run_apart

RIGHT = Report(
    enqueued=dict(KINDS), finished=dict(KINDS), succeeded=TOTAL, twice={}, held=3, unexplained=0, strangers=0, runs=TOTAL,
    took_s=9.5,
)  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, which has to be empty again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_the_demo_counts_right_and_leaves_nothing_behind(scratch: Path) -> None:
    answer = run_apart("demo")
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.endswith("enqueued = finished, lost 0\n")
    assert re.search(rf"all +{TOTAL:,} +{TOTAL:,} +0 ", answer.out)
    supervisors = [int(pid) for pid in re.findall(r"supervisor (\d+)", answer.out)]
    assert f"kill -9 {supervisors[0]}" in answer.out
    assert len(supervisors) == 2
    assert not any(map(is_alive, supervisors))
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "closed pipe"])
def test_cut_short_it_leaves_nothing_behind(way: str, scratch: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command("demo"), env=environment(), text=True, **pipes) as process:
        assert process.stdout is not None
        told = process.stdout.readline() + process.stdout.readline()
        supervisor = int(told.split("supervisor ")[1].split(")")[0])
        if way == "closed pipe":
            process.stdout.close()
        else:
            process.send_signal(signal.Signals[way])
        code = process.wait(30)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert code == (143 if way == "SIGTERM" else 1)
    assert not is_alive(supervisor)
    assert list(scratch.iterdir()) == []


class TestVerdict:
    """On the level of the report: what is counted, and what comes of it."""

    def demo(self, counted: Report, monkeypatch: pytest.MonkeyPatch, *form: str) -> tuple[int, str, str]:
        monkeypatch.setattr(demo, "_perform", lambda folder: counted)
        answer = run("demo", *form)
        return answer.code, answer.out, answer.err

    def test_a_right_count_is_told_as_such(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code, out, _ = self.demo(RIGHT, monkeypatch)
        assert code == 0
        assert out.endswith("enqueued = finished, lost 0\n")

    @pytest.mark.parametrize(
        ("wrong", "problem"),
        [
            ({"finished": {**KINDS, "slow": KINDS["slow"] - 2}}, "2 jobs lost"),
            ({"succeeded": TOTAL - 1}, f"the store tells of {TOTAL - 1:,} succeeded jobs, not {TOTAL:,}"),
            ({"unexplained": 1}, "1 job ran twice though no worker died on them"),
            ({"strangers": 4}, "4 jobs ran that nobody had enqueued"),
        ],
    )
    @pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
    def test_a_wrong_count_is_an_error(
        self, wrong: dict[str, object], problem: str, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        code, out, err = self.demo(msgspec.structs.replace(RIGHT, **wrong), monkeypatch, *form)
        assert code == 1
        assert f"the count is wrong: {problem}" in err
        assert "lost 0\n" not in out

    def test_json_tells_the_whole_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(demo, "_perform", lambda folder: RIGHT)
        assert run("demo", "--json").json == msgspec.to_builtins(RIGHT) | {"lost": 0, "problems": []}


class TestCounting:
    @pytest.fixture
    def lines(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(demo_report, "KINDS", {"quick": 2})
        monkeypatch.setattr(demo_report, "TOTAL", 2)
        path = tmp_path / "lines"
        monkeypatch.setenv(demo_tasks.LINES, str(path))
        return path

    def problems(self, path: Path, *, spoil: str = "") -> list[str]:
        tally = Tally(path)
        with demo_tasks.app.override(url="memory://") as app:
            ids = {job.id for job in app.enqueue_many(demo_tasks.quick.s(number) for number in range(2))}
            app.drain()
            first = min(ids)
            with path.open("a") as file:
                file.write({"stranger": "quick stranger\n", "twice": f"quick {first}\n"}.get(spoil, ""))
            tally.update()
            tally.close()
            lines = tally.lines if spoil != "lost" else Counter({first: 1})
            return report(app.store, ids, lines, 1.0).problems

    def test_jobs_that_each_wrote_their_line_are_right(self, lines: Path) -> None:
        assert self.problems(lines) == []

    @pytest.mark.parametrize(
        ("spoil", "problem"),
        [
            ("lost", "1 job lost"),
            ("stranger", "1 job ran that nobody had enqueued"),
            ("twice", "1 job ran twice though no worker died on them"),
        ],
    )
    def test_a_line_too_few_or_too_many_is_noticed(self, spoil: str, problem: str, lines: Path) -> None:
        assert self.problems(lines, spoil=spoil) == [problem]

    def test_a_line_that_is_not_whole_yet_waits(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        tally = Tally(path)
        end = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(end, b"quick one\nquick tw")
        tally.update()
        assert tally.finished == 1
        os.write(end, b"o\n")
        os.close(end)
        tally.update()
        tally.close()
        assert tally.lines == Counter(one=1, two=1)
