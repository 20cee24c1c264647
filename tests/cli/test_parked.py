"""Jobs that nobody vouches for are set aside, shown, and run only when a person has signed for them."""

import pytest

from tests.cli.conftest import APP, Answer, Shop


@pytest.fixture
def unsigned(store: Shop, monkeypatch: pytest.MonkeyPatch, signed: None) -> str:
    """A job written by someone without the secret, which a worker has parked."""
    monkeypatch.delenv("HOLDFAST_SECRET")
    job_id = store.enqueue("shop.add", 1, 2)
    monkeypatch.setenv("HOLDFAST_SECRET", "a secret of more than sixteen characters")
    store.drain()
    return job_id


@pytest.fixture
def tampered(store: Shop, signed: None) -> str:
    """A job whose arguments were changed behind our back, which a worker has parked."""
    job_id = store.enqueue("shop.give", "pay 10")
    assert tamper(store, job_id) == 1
    store.drain()
    return job_id


def tamper(store: Shop, job_id: str) -> int:
    with store.app as app:
        envelope = app.job(job_id).record().envelope
    changed = envelope.replace(b"pay 10", b"pay 99")
    store.change("update holdfast_job set envelope = ? where id = ?", changed, job_id)
    return int(changed != envelope)


def test_a_tampered_job_is_parked_and_was_never_run(store: Shop, tampered: str) -> None:
    told = store.json("show", tampered)
    assert (told["state"], told["signature"]) == ("parked", "broken")
    assert "what it stands for was changed" in told["error"]
    assert told["arguments"]["args"] == ["pay 99"]
    assert told["failures"] == 0


def test_people_see_that_its_signature_does_not_hold(store: Shop, tampered: str) -> None:
    shown = store.run("show", tampered).out
    assert "parked" in shown
    assert "yes, and the signature does not hold" in shown
    assert "('pay 99')" in shown


def test_parked_jobs_are_listed_with_the_reason(store: Shop, tampered: str, unsigned: str) -> None:
    assert {job["id"] for job in store.json("jobs", "--state", "parked")} == {tampered, unsigned}
    shown = store.run("jobs", "--state", "parked").out
    assert tampered in shown
    assert "the signature" in shown


def test_an_unsigned_job_says_that_its_signature_is_missing(store: Shop, unsigned: str) -> None:
    told = store.json("show", unsigned)
    assert (told["state"], told["signature"], told["is_signed"]) == ("parked", "missing", False)


def test_the_result_of_a_parked_job_points_to_show(store: Shop, tampered: str) -> None:
    answer = store.run("result", tampered)
    assert answer.code == 1
    assert "it is parked; see why: holdfast show" in answer.err


def test_unparked_without_a_signature_it_is_parked_again(store: Shop, unsigned: str) -> None:
    assert store.run("unpark", unsigned).out == "unparked 1 job\n"
    assert store.state(unsigned) == "ready"
    store.drain()
    assert store.state(unsigned) == "parked"


def test_signed_by_a_person_it_runs(store: Shop, unsigned: str) -> None:
    assert store.json("unpark", unsigned, "--reseal") == {"unparked": [unsigned], "left_alone": [], "refused": {}}
    store.drain()
    assert store.run("result", unsigned).out == "3\n"


def test_all_are_signed_after_asking_only(store: Shop, unsigned: str, form: tuple[str, ...]) -> None:
    answer = store.run("unpark", "--all", "--reseal", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "Sign what does not verify of 1 parked job, and let it run? Nobody is there to answer" in answer.err
    assert store.state(unsigned) == "parked"
    assert store.json("unpark", "--all", "--reseal", "--yes")["unparked"] == [unsigned]


def test_an_envelope_in_another_jobs_row_is_never_signed(store: Shop, signed: None, form: tuple[str, ...]) -> None:
    pay, give = store.enqueue("shop.give", "pay 10"), store.enqueue("shop.give", "take 10")
    with store.app as app:
        theirs = app.job(pay).record()
    store.change("update holdfast_job set envelope = ?, seal = ? where id = ?", theirs.envelope, theirs.seal, give)
    store.drain()
    answer = store.run("unpark", give, "--reseal", *form)
    assert answer.code == 1
    assert "1 job could not be signed; cancel what should not run, and enqueue anew what should" in answer.err
    assert "re-bound" in answer.out
    assert store.state(give) == "parked"


def test_signing_needs_a_key(store: Shop, unsigned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_SECRET")
    answer = store.run("unpark", unsigned, "--reseal")
    assert answer.code == 1
    assert "there is no key to sign with; set HOLDFAST_SECRET, or name an app that has one with --app" in answer.err


def test_the_key_may_be_the_apps(store: Shop, unsigned: str) -> None:
    assert store.run("--app", APP, "unpark", unsigned, "--reseal").code == 0


def test_a_job_of_an_unknown_task_is_parked_and_told(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    with type(store.app)(store.url) as stranger:
        stranger.drain()
    told = store.json("show", job_id)
    assert told["state"] == "parked"
    assert "no task 'shop.add' is known here" in told["error"]
    assert store.json("unpark", "--all")["unparked"] == [job_id]


@pytest.mark.parametrize("extra", [(), ("--reseal",)], ids=["", "reseal"])
def test_what_is_not_parked_is_left_alone_and_told(store: Shop, extra: tuple[str, ...], signed: None) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    answer = store.run("unpark", job_id, "no-such-job", *extra, "--json")
    assert answer.code == 1
    assert answer.json == {"unparked": [], "left_alone": [job_id, "no-such-job"], "refused": {}}
    assert f"not parked, or not in this store: {job_id}, no-such-job" in answer.err


@pytest.mark.parametrize("words", [[], ["some-job", "--all"]])
def test_ids_or_all_must_be_given(words: list[str], store: Shop) -> None:
    answer: Answer = store.run("unpark", *words)
    assert answer.code == 1
    assert "expected the ids of parked jobs, or --all for every one of them" in answer.err


def test_with_nothing_parked_all_is_no_error(store: Shop) -> None:
    assert store.run("unpark", "--all").out == "unparked 0 jobs\n"
