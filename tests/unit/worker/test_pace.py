from holdfast.worker.pace import MOST_AHEAD, Pace


def test_before_anything_is_known_one_claim_is_held() -> None:
    assert Pace().depth == 1


def test_quick_runs_are_sent_ahead_by_the_hundred() -> None:
    pace = Pace()
    for _ in range(100):
        pace.saw(20)
    assert pace.depth == 1 + MOST_AHEAD


def test_about_fifty_milliseconds_are_held_ahead() -> None:
    pace = Pace()
    for _ in range(100):
        pace.saw(5_000)
    assert 10 <= pace.depth <= 12


def test_one_long_run_ends_it_at_once() -> None:
    pace = Pace()
    for _ in range(100):
        pace.saw(20)
    pace.saw(200_000)
    assert pace.depth == 1


def test_where_long_runs_are_mixed_in_little_is_sent_that_would_be_taken_back() -> None:
    pace = Pace()
    taken_back = runs = 0
    for _ in range(50):
        for _ in range(40):
            pace.saw(200)
            runs += 1
        taken_back += pace.depth - 1
        pace.overstayed(150_000)
    assert taken_back / runs < 0.3


def test_a_rare_long_run_costs_quick_ones_nothing_for_long() -> None:
    pace = Pace()
    for _ in range(10_000):
        pace.saw(20)
    pace.overstayed(150_000)
    for _ in range(100):
        pace.saw(20)
    assert pace.depth == 1 + MOST_AHEAD
