from holdfast.model.verdict import done
from holdfast.run.notices import Notices
from tests.unit.run.making import claim_of

CLAIM = claim_of()
TOKEN = CLAIM.token
VERDICT = done(CLAIM, b"result")


def test_a_run_without_a_notice_is_told_nothing() -> None:
    notices = Notices()
    assert not notices.is_told(TOKEN)
    assert notices.file(VERDICT) is VERDICT


def test_a_cancelled_run_is_told_and_its_verdict_stands() -> None:
    notices = Notices()
    notices.cancel([TOKEN])
    assert notices.is_told(TOKEN)
    assert notices.file(VERDICT) is VERDICT


def test_a_run_that_no_longer_counts_is_handed_back_once_it_was_told() -> None:
    """I12: a run that stopped early because it was told to must not pass for done."""
    notices = Notices()
    notices.void([TOKEN])
    assert notices.is_told(TOKEN)
    assert not notices.is_cancelled(TOKEN)
    filed = notices.file(VERDICT)
    assert (filed.outcome, filed.token, filed.result) == ("released", TOKEN, None)


def test_a_run_that_ended_before_it_was_told_is_believed() -> None:
    notices = Notices()
    notices.void([TOKEN])
    assert notices.file(VERDICT) is VERDICT


def test_nothing_is_kept_of_a_run_whose_verdict_was_filed() -> None:
    notices = Notices()
    notices.cancel([TOKEN])
    notices.void([TOKEN])
    notices.is_told(TOKEN)
    notices.file(VERDICT)
    assert not notices.is_told(TOKEN)
    assert notices.file(VERDICT) is VERDICT
