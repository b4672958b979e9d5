import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bomi import BomiError, Interval
from bomi.benchmarks.functions import Problem, problem
from bomi.benchmarks.missingness import Event, Events, HistoryGaps, initial, read_initial

DRAWS = 10_000


def drawn(events: Events, d: int, count: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    every = [events.draw(7, t, d) for t in range(count)]
    return np.array([event.failed for event in every]), np.array([event.offset for event in every])


def assert_rate(happened: np.ndarray, probability: float) -> None:
    """The count is within 4 standard deviations of the binomial's mean."""
    n = happened.size
    z = (happened.sum() - n * probability) / np.sqrt(n * probability * (1 - probability))
    assert abs(z) < 4, f"{happened.mean():.4f} against {probability:.4f}, z = {z:.1f}"


# --- history ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.25, 0.8, 1.0])
def test_the_share_of_gappy_rows_is_exact(share: float) -> None:
    mask = HistoryGaps(share=share).mask(40, 5, np.random.default_rng(0))
    assert mask.shape == (40, 5)
    assert mask.dtype == bool
    assert mask.any(axis=1).sum() == share * 40
    assert mask.sum(axis=1).max() == (share > 0)


def test_gaps_a_row_and_their_places_are_uniform() -> None:
    mask = HistoryGaps(share=1.0, most=3).mask(DRAWS, 4, np.random.default_rng(0))
    for count in (1, 2, 3):
        assert_rate(mask.sum(axis=1) == count, 1 / 3)
    for column in mask.T:
        assert_rate(column, 2 / 4)  # two gaps a row on average, in four columns
    assert_rate(mask[mask.sum(axis=1) == 1][:, 0], 1 / 4)


def test_a_row_loses_no_more_than_it_has() -> None:
    counts = HistoryGaps(share=1.0, most=9).mask(DRAWS, 2, np.random.default_rng(0)).sum(axis=1)
    assert set(counts) == {1, 2}
    assert_rate(counts == 1, 1 / 2)


def test_gappy_rows_are_any_rows() -> None:
    rng = np.random.default_rng(0)
    first = np.array([HistoryGaps(share=0.5).mask(4, 2, rng)[0].any() for _ in range(DRAWS)])
    assert_rate(first, 0.5)


# --- events -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.25, 0.65])
def test_per_run_events_have_probability_rho(rho: float) -> None:
    failed, _ = drawn(Events(rho, 0.05), 5)
    assert_rate(failed.any(axis=1), rho)
    assert failed.sum(axis=1).max() == 1
    for parameter in failed.T:
        assert_rate(parameter, rho / 5)


def test_per_run_events_fail_a_uniform_number_of_parameters() -> None:
    failed, _ = drawn(Events(0.5, 0.05, most=4), 5)
    assert_rate(failed.any(axis=1), 0.5)
    for count in (1, 2, 3, 4):
        assert_rate(failed.sum(axis=1) == count, 0.5 / 4)
    for parameter in failed.T:
        assert_rate(parameter, 0.5 * 2.5 / 5)


def test_per_run_events_with_a_probability_for_each_parameter() -> None:
    rho = [0.1, 0.5, 0.9]
    failed, _ = drawn(Events(rho, 0.05), 3)
    assert_rate(failed.any(axis=1), 0.5)
    for parameter, own in zip(failed.T, rho, strict=True):
        assert_rate(parameter, own / 3)


@pytest.mark.parametrize("most", [1, 2])
def test_equal_probabilities_are_one_probability(most: int) -> None:
    for kind in ("per-run", "per-coordinate"):
        one, each = Events(0.3, 0.1, most=most, kind=kind), Events([0.3] * 3, [0.1] * 3, most=most, kind=kind)
        np.testing.assert_array_equal(drawn(one, 3, 300), drawn(each, 3, 300))


def test_per_run_events_expose_only_what_can_fail() -> None:
    """One of the first two parameters in half of the runs; the other two never."""
    events = Events([0.5, 0.5, 0.0, 0.0], 0.1)
    failed = np.array([events.draw(3, t, 4).failed for t in range(4000)])
    assert not failed[:, 2:].any()
    assert failed.sum(1).max() == 1
    assert failed.any(1).mean() == pytest.approx(0.5, abs=4 * 0.5 / 4000**0.5)
    assert failed[:, 0].mean() == pytest.approx(0.25, abs=4 * 0.44 / 4000**0.5)
    assert not any(Events([0.0] * 3, 0.1, most=2).draw(0, t, 3).failed.any() for t in range(50))


def test_per_coordinate_events_stop_at_the_first_failure() -> None:
    failed, _ = drawn(Events(0.25, 0.05, kind="per-coordinate"), 4)
    assert failed.sum(axis=1).max() == 1
    assert_rate(failed.any(axis=1), 1 - 0.75**4)
    for i, parameter in enumerate(failed.T):
        assert_rate(parameter, 0.25 * 0.75**i)


def test_per_coordinate_events_stop_after_the_most() -> None:
    free, _ = drawn(Events([0.5, 0.2, 0.7], 0.05, kind="per-coordinate", most=3), 3)
    for parameter, own in zip(free.T, (0.5, 0.2, 0.7), strict=True):
        assert_rate(parameter, own)
    two, _ = drawn(Events(0.5, 0.05, kind="per-coordinate", most=2), 5)
    binomial = stats.binom(5, 0.5)
    assert_rate(two.sum(axis=1) == 1, binomial.pmf(1))
    assert_rate(two.sum(axis=1) == 2, binomial.sf(1))


def test_offsets_are_uniform_up_to_eta() -> None:
    failed, offset = drawn(Events(0.5, [0.05, 0.3]), 2)
    assert (offset[~failed] == 0).all()
    for i, eta in enumerate((0.05, 0.3)):
        sizes = offset[failed[:, i], i]
        assert stats.kstest(sizes, stats.uniform(-eta, 2 * eta).cdf).pvalue > 1e-3


def test_sign_offsets_are_exactly_eta() -> None:
    failed, offset = drawn(Events(1.0, 0.05, offset="sign"), 2)
    assert set(np.abs(offset[failed])) == {0.05}
    assert_rate(offset[failed] > 0, 0.5)


def test_an_interval_of_eta_is_drawn_anew() -> None:
    failed, offset = drawn(Events(1.0, [0.8, Interval(0.7, 0.9)], offset="sign"), 2)
    assert set(np.abs(offset[failed[:, 0], 0])) == {0.8}
    sizes = np.abs(offset[failed[:, 1], 1])
    assert stats.kstest(sizes, stats.uniform(0.7, 0.2).cdf).pvalue > 1e-3


def test_successive_events_are_independent() -> None:
    failed, offset = drawn(Events(0.5, 0.1, most=2), 2)
    happened = failed.any(axis=1).astype(float)
    for series in (happened, offset[:, 0]):
        assert abs(np.corrcoef(series[1:], series[:-1])[0, 1]) < 4 / np.sqrt(DRAWS)
    # Neighbouring seeds too.
    other = np.array([Events(0.5, 0.1, most=2).draw(8, t, 2).failed.any() for t in range(DRAWS)])
    for ours, theirs in ((happened, other), (happened[1:], other[:-1]), (happened[:-1], other[1:])):
        assert abs(np.corrcoef(ours, theirs)[0, 1]) < 4 / np.sqrt(DRAWS)


def test_events_follow_from_seed_and_iteration_alone() -> None:
    events = Events(0.5, 0.1, most=3)
    forward = [events.draw(3, t, 4) for t in range(50)]
    for t in reversed(range(50)):
        again = events.draw(3, t, 4)
        np.testing.assert_array_equal(again.failed, forward[t].failed)
        np.testing.assert_array_equal(again.offset, forward[t].offset)
    assert any((events.draw(4, t, 4).failed != forward[t].failed).any() for t in range(50))


@pytest.mark.parametrize("kind", ["per-run", "per-coordinate"])
def test_settings_share_their_draws(kind: str) -> None:
    seldom, small = drawn(Events(0.25, 0.1, kind=kind), 4, 500)
    often, _ = drawn(Events(0.65, 0.1, kind=kind), 4, 500)
    assert (often.any(axis=1) >= seldom.any(axis=1)).all()
    same, large = drawn(Events(0.25, 0.9, kind=kind), 4, 500)
    np.testing.assert_array_equal(same, seldom)
    np.testing.assert_allclose(large, 9 * small)


def test_an_event_moves_and_hides_what_failed() -> None:
    event = Event(np.array([True, False, True]), np.array([0.1, 0.0, -0.3]))
    bounds = {"a": (0.0, 10.0), "b": (0.0, 1.0), "c": (-5.0, 5.0)}
    asked = np.array([5.0, 0.25, -4.0])
    actual, recorded = event.apply(asked, bounds)
    np.testing.assert_allclose(actual, [6.0, 0.25, -5.0])  # c would be -7: clipped to the box
    np.testing.assert_array_equal(recorded, [np.nan, 0.25, np.nan])
    np.testing.assert_array_equal(asked, [5.0, 0.25, -4.0])


def test_what_did_not_fail_is_as_asked_and_all_stays_in_the_box() -> None:
    bounds = {"a": (-1.0, 1.0), "b": (100.0, 300.0)}
    rng = np.random.default_rng(0)
    for t in range(500):
        event = Events(0.8, 0.9, most=2).draw(0, t, 2)
        asked = rng.uniform([-1, 100], [1, 300])
        actual, recorded = event.apply(asked, bounds)
        assert ((actual >= [-1, 100]) & (actual <= [1, 300])).all()
        np.testing.assert_array_equal(actual[~event.failed], asked[~event.failed])
        np.testing.assert_array_equal(np.isnan(recorded), event.failed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HistoryGaps(share=1.2), "0 <= share <= 1.*share=1.2"),
        (lambda: HistoryGaps(share=float("nan")), "0 <= share <= 1"),
        (lambda: HistoryGaps(most=0), "most >= 1.*most=0"),
        (lambda: Events(-0.1, 0.05), "0 <= rho <= 1.*rho=-0.1"),
        (lambda: Events([0.1, 1.1], 0.05), "0 <= rho <= 1.*rho=1.1"),
        (lambda: Events(Interval(0.1, 0.2), 0.05), "0 <= rho <= 1"),
        (lambda: Events(0.1, -0.05), "0 <= eta.*eta=-0.05"),
        (lambda: Events(0.1, [0.1, Interval(-0.1, 0.1)]), "0 <= eta.*eta=-0.1..0.1"),
        (lambda: Events(0.1, float("inf")), "0 <= eta"),
        (lambda: Events(0.1, 0.05, most=0), "most >= 1"),
        (lambda: Events(0.1, 0.05, kind="per-day"), "'per-run' or 'per-coordinate', but got 'per-day'"),
        (lambda: Events(0.1, 0.05, offset="normal"), "'uniform' or 'sign', but got 'normal'"),
        (lambda: Events([0.1, 0.2], 0.05).draw(0, 0, 3), "rho needs one value, or one for each of 3"),
        (lambda: Events(0.1, (0.7, 0.9)).draw(0, 0, 3), r"eta needs one value.*Interval\(low, high\)"),
        (
            lambda: Events(0.1, 0.05).draw(0, 0, 3).apply(np.zeros(2), {"a": (0.0, 1.0)}),
            "event of 3 parameters",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(BomiError, match=message):
        make()


def test_settings_are_values() -> None:
    rho = [0.1, 0.2]
    events = Events(rho, 0.05)
    rho[0] = 0.9
    assert events == Events((0.1, 0.2), 0.05)
    assert hash(events) == hash(Events((0.1, 0.2), 0.05))


# --- initial data -----------------------------------------------------------------------------------------


def test_initial_data_is_uniform_and_gappy() -> None:
    chosen = problem("schwefel", dim=3)
    data = initial(chosen, rows=2_000, gaps=HistoryGaps(share=0.6, most=2), seed=1)
    for column in data.inputs.T:
        assert stats.kstest(column, stats.uniform(-500, 1000).cdf).pvalue > 1e-3
    gaps = np.isnan(data.recorded)
    assert gaps.any(axis=1).sum() == 1_200
    np.testing.assert_array_equal(data.recorded[~gaps], data.inputs[~gaps])
    np.testing.assert_array_equal(data.outcomes, chosen(data.inputs))


def test_initial_data_is_recorded_where_it_took_place() -> None:
    shifted = Problem("shifted", {"a": (0.0, 1.0)}, lambda x: x[:, 0] / 2, experiment=lambda x: (x / 2, x[:, 0] / 2))
    data = initial(shifted, rows=20, gaps=HistoryGaps(share=0.5), seed=0)
    asked = initial(Problem("as asked", {"a": (0.0, 1.0)}, lambda x: x[:, 0]), rows=20, seed=0)
    np.testing.assert_array_equal(data.inputs, asked.inputs / 2)
    np.testing.assert_array_equal(data.outcomes, data.inputs[:, 0])
    known = ~np.isnan(data.recorded)
    assert known.sum() == 10
    np.testing.assert_array_equal(data.recorded[known], data.inputs[known])


def test_initial_data_follows_from_the_seed() -> None:
    chosen = problem("alpine")
    once, again, other = (initial(chosen, seed=seed) for seed in (5, 5, 6))
    for first, second in zip(once, again, strict=True):
        np.testing.assert_array_equal(first, second)
    assert once.inputs.shape == (30, 5)
    assert np.isnan(once.recorded).sum() == 24
    assert (once.inputs != other.inputs).all()
    assert (np.isnan(once.recorded) != np.isnan(other.recorded)).any()
    complete = initial(chosen, gaps=HistoryGaps(share=0.0), seed=5)
    np.testing.assert_array_equal(complete.recorded, once.inputs)
    with pytest.raises(BomiError, match="at least 1 row, but got rows=0"):
        initial(chosen, rows=0, seed=0)


@pytest.mark.parametrize(("name", "rows"), [("eggholder", 30), ("schubert", 50), ("alpine", 30), ("schwefel", 30)])
def test_the_authors_data_is_read(name: str, rows: int, authors_folder: Path) -> None:
    chosen = problem(name)
    repeats = [read_initial(authors_folder, chosen, repeat) for repeat in range(10)]
    for data in repeats:
        gaps = np.isnan(data.recorded)
        assert data.inputs.shape == data.recorded.shape == (rows, chosen.dim)
        assert data.outcomes.shape == (rows,)
        assert (gaps.sum(axis=1) == 0).sum() == 5
        assert (gaps.sum(axis=1) == 1).sum() == rows - 5
        np.testing.assert_array_equal(data.recorded[~gaps], data.inputs[~gaps])
        np.testing.assert_array_equal(data.inputs, repeats[0].inputs)
    assert (np.isnan(repeats[0].recorded) != np.isnan(repeats[1].recorded)).any()
    np.testing.assert_allclose(chosen(repeats[0].inputs), repeats[0].outcomes, rtol=1e-6)
    with pytest.raises(BomiError, match=r"one file \*X_10.csv"):
        read_initial(authors_folder, chosen, 10)


GOOD = {
    "X.csv": "x1,x2\n1,2\n3,-4.5\n",
    "Y.csv": "y\n-1.5\n2e1\n",
    "X_0.csv": "x1,x2\r\n1,\r\n?,-4.5\r\n",
}


def folder_with(place: Path, changed: dict[str, str | None]) -> Path:
    inner = place / "Alpine2d"
    inner.mkdir()
    for ending, content in {**GOOD, **changed}.items():
        if content is not None:
            (inner / f"AlpineNd{ending}").write_text(content, encoding="utf-8", newline="")
    return place


def test_a_folder_of_this_layout_is_read(tmp_path: Path) -> None:
    data = read_initial(folder_with(tmp_path, {}), problem("alpine2d"), 0)
    np.testing.assert_array_equal(data.inputs, [[1, 2], [3, -4.5]])
    np.testing.assert_array_equal(data.recorded, [[1, np.nan], [np.nan, -4.5]])
    np.testing.assert_array_equal(data.outcomes, [-1.5, 20])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"X.csv": None},
            r"one file \*X.csv must be in .*Alpine2d, but there is AlpineNdX_0.csv, AlpineNdY.csv",
        ),
        ({"Y.csv": None}, r"one file \*Y.csv"),
        ({"X_0.csv": None}, r"one file \*X_0.csv"),
        ({"2dX.csv": GOOD["X.csv"]}, r"one file \*X.csv .* there is AlpineNd2dX.csv, AlpineNdX.csv"),
        ({"X.csv": "x1\n1\n3\n"}, "X.csv: the number of columns must be 2, but is 1"),
        ({"X_0.csv": "x1,x2,x3\n1,2,3\n"}, "X_0.csv: the number of columns must be 2, but is 3"),
        ({"Y.csv": ""}, "Y.csv: the number of columns must be 1, but is 0"),
        ({"Y.csv": "y\n1\n"}, "the same number of rows, but have 2 inputs, 1 outcomes and 2"),
        ({"X.csv": "x1,x2\n1,2\n3\n"}, "line 3 needs 2 cells, but has 1"),
        ({"X.csv": "x1,x2\n1,2\n3,?\n"}, r"line 3, column x2: expected a number, but got '\?'"),
        (
            {"X_0.csv": "x1,x2\n1,two\n3,-4.5\n"},
            "line 2, column x2: expected a number or a blank, but got 'two'",
        ),
        ({"Y.csv": "y\n1\ninf\n"}, "line 3, column y: expected a number, but got 'inf'"),
        ({"X_0.csv": "x1,x2\n1,2\n3,-4\n"}, "must equal the true ones, but differ at row 2, column 2"),
    ],
)
def test_broken_folders_are_refused(tmp_path: Path, changed: dict[str, str | None], message: str) -> None:
    with pytest.raises(BomiError, match=message):
        read_initial(folder_with(tmp_path, changed), problem("alpine2d"), 0)


def test_a_folder_without_the_problem_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BomiError, match=r"problem 'alpine3d' must be in the folder .*Alpine3d"):
        read_initial(folder_with(tmp_path, {}), problem("alpine3d"), 0)


def test_torch_is_not_loaded() -> None:
    line = "import sys; import bomi.benchmarks.missingness; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", line], check=True)
