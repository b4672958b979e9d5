"""Batches, known errors, failures, targets and several outcomes, through the optimizer."""

import math

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi import Front, Optimizer, Prediction
from bomi.errors import MethodError, SuggestionError, TableError

SQUARE = {"a": (0, 1), "b": (0, 1)}
LEARNERS = [name for name in bomi.METHODS if name != "random"]
BOTH = {"yield": "maximize", "impurity": "minimize"}


def points(count, seed=0, dim=2):
    return np.random.default_rng(seed).random((count, dim))


def setting(x):
    return dict(zip("abcdef", map(float, x), strict=False))


def told(f, *, count=12, gaps=(), seed=0, **options):
    optimizer = Optimizer(SQUARE, seed=seed, **options)
    for i, x in enumerate(points(count, seed)):
        optimizer.tell({**setting(x), **({"a": None} if i in gaps else {})}, f(x))
    return optimizer


def test_a_list_of_outcomes_is_told_how_to_give_them():
    with pytest.raises(bomi.BomiError, match=r"mapping of each to its goal.*but got \['yield', 'cost'\]"):
        Optimizer(SQUARE, objective=["yield", "cost"])


# --- batches ---


@pytest.mark.parametrize("method", LEARNERS)
def test_a_batch_is_what_one_by_one_would_avoid(method):
    optimizer = told(lambda x: math.sin(5 * x[0]) + x[1], method=method, gaps=(1, 4))
    batch = optimizer.ask(5)
    places = np.array([list(s.values()) for s in batch])
    apart = np.abs(places[:, None] - places).max(-1)[np.triu_indices(5, 1)]
    assert apart.min() > 1e-6
    assert len({s.id for s in batch}) == 5
    assert optimizer.frame()["y"].isna().sum() == 5


def test_pending_rows_are_told_in_any_order_and_some_never():
    optimizer = told(lambda x: x[0] - x[1] ** 2, method="mean")
    first, second, third = optimizer.ask(3)
    optimizer.tell(third, 0.3)
    optimizer.tell(first, failed=True)
    later = optimizer.ask(2)
    asked = [dict(s) for s in (second, *later)]
    assert [row.pending for row in optimizer.observations.rows[-5:]] == [False, True, False, True, True]
    assert len({tuple(s.values()) for s in asked}) == 3
    with pytest.raises(SuggestionError, match="told already"):
        optimizer.tell(first, 1.0)


def test_a_pending_point_lowers_the_interest_in_its_surroundings():
    optimizer = told(lambda x: -((x[0] - 0.5) ** 2) - x[1], method="posterior")
    alone = optimizer._known.fit.outlook
    import torch

    place = torch.tensor([[0.9, 0.9]], dtype=torch.float64)
    believed = alone.condition_on(place)
    (mean, variance), (mean_before, before) = (one.models[0].moments(place) for one in (believed, alone))
    assert (variance < 0.5 * before).all()
    assert (variance < 0.25 * before).double().mean() > 0.9  # a world may take some of it for noise
    torch.testing.assert_close(mean, mean_before)


# --- known errors and repeats ---


@pytest.mark.parametrize("method", LEARNERS)
def test_a_known_error_is_believed(method):
    """The best outcome of all has a standard error that explains it: it is not what is recommended."""
    optimizer = Optimizer({"a": (0, 1)}, method=method, seed=0)
    for x in np.linspace(0, 1, 11):
        lucky = abs(x - 0.9) < 0.01
        optimizer.tell({"a": x}, 2.0 if lucky else -((x - 0.3) ** 2), sd=5.0 if lucky else 0.001)
    best = optimizer.best()
    assert best.seen == 2.0
    assert best.setting["a"] == pytest.approx(0.3, abs=0.12)


def test_a_known_error_is_a_column_of_the_table():
    frame = pd.DataFrame({"a": [0.1, 0.5, 0.9], "y": [1.0, 2.0, 3.0], "y.sd": [0.1, None, 0.0]})
    optimizer = Optimizer({"a": (0, 1)}, seed=0)
    optimizer.tell(frame)
    assert [dict(row.errors) for row in optimizer.observations.rows] == [{"y": 0.1}, {}, {"y": 0.0}]
    again = Optimizer({"a": (0, 1)}, seed=0)
    again.tell(optimizer.frame())
    pd.testing.assert_frame_equal(again.frame(), optimizer.frame())
    for wrong in (-1, "much", math.inf):
        with pytest.raises(TableError, match="a standard error is a number from 0"):
            optimizer.tell({"a": 0.2}, 1.0, sd=wrong)
        with pytest.raises(TableError, match=r"row 0, column 'y\.sd': a standard error"):
            Optimizer({"a": (0, 1)}).tell(frame.assign(**{"y.sd": [wrong, None, None]}))


def test_the_sampler_of_gaps_knows_known_errors():
    """An outcome with a large error says nothing of the gap beside it; one without says a lot."""

    def spread(sd):
        optimizer = Optimizer({"a": (0, 1)}, seed=0)
        for x in np.linspace(0, 1, 12):
            optimizer.tell({"a": x}, x)
        optimizer.tell({"a": None}, 0.4, sd=sd)
        return optimizer.gaps().loc[0, "sd"]

    assert spread(None) < 0.05
    assert spread(10.0) > 0.2


def test_repeats_are_understood_and_the_luckiest_measurement_is_not_recommended():
    rng = np.random.default_rng(3)
    optimizer = Optimizer({"a": (0, 1)}, seed=0)
    for x in np.repeat(np.linspace(0, 1, 9), 4):
        optimizer.tell({"a": x}, -4 * (x - 0.4) ** 2 + 0.4 * rng.normal())
    lucky = optimizer.best().seen_at["a"]
    best = optimizer.best()
    assert abs(best.setting["a"] - 0.4) < 0.15
    assert best.predicted.mean < best.seen
    assert best.predicted.mean == pytest.approx(0, abs=0.25)
    assert abs(lucky - 0.4) > abs(best.setting["a"] - 0.4) or lucky == pytest.approx(0.4, abs=0.15)


# --- failures ---


def test_failures_are_told_and_kept():
    optimizer = Optimizer(SQUARE, method="mean", seed=0)
    optimizer.tell({"a": 0.1, "b": 0.2}, failed=True)
    optimizer.tell({"a": 0.3, "b": None}, "failed")
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.frame()["y"].tolist() == ["failed", "failed", "1"]  # a column has one type
    again = Optimizer(SQUARE, method="mean", seed=0)
    again.tell(optimizer.frame())
    assert again.observations == optimizer.observations
    assert optimizer.best().seen == 1.0
    with pytest.raises(TableError, match="has no outcome"):
        optimizer.tell({"a": 0.1, "b": 0.2}, 1.0, failed=True)
    with pytest.raises(TableError, match="tell it alone"):
        optimizer.tell(optimizer.frame(), failed=True)


def run_half_infeasible(method, budget, seed):
    """Whether each suggestion failed; the best outcomes lie across the border a + b = 1."""
    optimizer = Optimizer(SQUARE, method=method, seed=seed)
    failed = []
    for x in points(8, seed):
        cells = setting(x) if seed != 1 else {**setting(x), "b": None}
        optimizer.tell(cells, failed=True) if x.sum() > 1 else optimizer.tell(setting(x), x[0] + 2 * x[1])
    for _ in range(budget):
        s = optimizer.ask()
        failed.append(s["a"] + s["b"] > 1)
        optimizer.tell(s, failed=True) if failed[-1] else optimizer.tell(s, s["a"] + 2 * s["b"])
    return np.array(failed), optimizer


@pytest.mark.parametrize("method", ["posterior", "mean"])
def test_failures_teach_to_stay_where_experiments_succeed(method):
    failed, optimizer = run_half_infeasible(method, 14, seed=0)
    assert failed.mean() < 0.45  # of even points half would fail, and the outcome grows towards failure
    setting = optimizer.best().setting
    assert setting["a"] + setting["b"] < 1.1
    likely, unlikely = optimizer.success([{"a": 0.2, "b": 0.2}, {"a": 0.9, "b": 0.9}])
    assert likely > 0.8
    assert unlikely < 0.3


def test_a_gap_in_a_failed_row_is_drawn_too():
    _, optimizer = run_half_infeasible("posterior", 0, seed=1)
    gaps = optimizer.gap_draws()
    assert gaps
    assert all(optimizer.observations.rows[gap.row].failed for gap in gaps)
    assert all(len(gap.draws) >= 5 for gap in gaps)
    assert len(optimizer.gaps()) == len(gaps)


@pytest.mark.parametrize("method", LEARNERS)
def test_the_first_suggestion_after_failures_avoids_them(method):
    optimizer = Optimizer(SQUARE, method=method, seed=0)
    for b in (0.1, 0.3, 0.5, 0.7, 0.9):
        optimizer.tell({"a": 0.8 + 0.1 * b, "b": b}, failed=True)
        optimizer.tell({"a": 0.7, "b": b}, failed=True)
    assert optimizer.ask()["a"] < 0.6
    optimizer.tell({"a": 0.2, "b": 0.4}, 1.0)
    optimizer.tell({"a": 0.3, "b": 0.7}, 2.0)
    assert optimizer.ask()["a"] < 0.6


def test_nothing_failed_means_success():
    assert told(lambda x: x[0], method="mean").success([{"a": 0.5, "b": 0.5}]) == [1.0]
    with pytest.raises(MethodError, match="no model"):
        Optimizer(SQUARE).success([{"a": 0.5, "b": 0.5}])


# --- a target ---


@pytest.mark.parametrize("method", ["posterior", "mean", "bomi"])
def test_a_target_is_reached_from_both_sides(method):
    optimizer = told(lambda x: 3 + 8 * x[0] + x[1], count=6, method=method, goal=("target", 7.0))
    for _ in range(4):
        s = optimizer.ask()
        optimizer.tell(s, 3 + 8 * s["a"] + s["b"])
    best = optimizer.best()
    assert 3 + 8 * best.setting["a"] + best.setting["b"] == pytest.approx(7.0, abs=0.1)
    assert best.predicted.mean == pytest.approx(7.0, abs=0.3)
    nearest = min(optimizer.frame()["y"], key=lambda y: abs(y - 7))
    assert best.seen == nearest
    assert optimizer.goal == "target"


def test_a_target_with_heavy_tails_and_gaps():
    optimizer = told(lambda x: math.exp(8 * x[0]), count=14, gaps=(2, 5), goal=("target", 30.0))
    assert optimizer.best().setting["a"] == pytest.approx(math.log(30) / 8, abs=0.05)
    assert (optimizer.gaps()["worth"] >= 0).all()


# --- several outcomes ---


def trade(x):
    """More a is more yield and more impurity; b = 0.3 is best for both."""
    off = (x[1] - 0.3) ** 2
    return {"yield": 100 * x[0] - 20 * off, "impurity": 5 * x[0] ** 2 + 3 * off}


def test_the_front_is_found_and_its_settings_are_undominated():
    optimizer = told(trade, count=10, gaps=(3,), objective=BOTH)
    for _ in range(6):
        s = optimizer.ask()
        assert set(s.predicted) == {"yield", "impurity"}
        optimizer.tell(s, trade(list(s.values())))
    front = optimizer.best()
    assert isinstance(front, Front)
    assert len(front) >= 5
    assert list(front) == [front[i] for i in range(len(front))]
    assert front.setting in [choice.setting for choice in front]
    for choice in front:
        assert choice.setting["b"] == pytest.approx(0.3, abs=0.15)
        assert isinstance(choice.predicted["yield"], Prediction)
        assert set(choice.seen) == {"yield", "impurity"}
    yields = [choice.predicted["yield"].mean for choice in front]
    impurities = [choice.predicted["impurity"].mean for choice in front]
    assert yields == sorted(yields)
    assert impurities == sorted(impurities)  # a better yield is paid for
    assert max(yields) - min(yields) > 50


@pytest.mark.parametrize("method", list(bomi.METHODS))
def test_every_method_takes_several_outcomes_with_gaps_in_all_of_it(method):
    optimizer = Optimizer(SQUARE, objective={**BOTH, "pH": ("target", 7.0)}, method=method, seed=0)
    for i, x in enumerate(points(9)):
        outcomes = {**trade(x), "pH": 5 + 4 * x[1]}
        if i % 3 == 1:
            del outcomes["impurity"]
        optimizer.tell({**setting(x), **({"b": None} if i == 4 else {})}, outcomes)
    optimizer.tell({"a": 0.99, "b": 0.99}, failed=True)
    first, second = optimizer.ask(2)
    assert dict(first) != dict(second)
    front = optimizer.best()
    assert len(front) >= 1
    assert set(optimizer.gaps()["row"]) == {4}


def test_outcomes_come_one_after_the_other():
    optimizer = Optimizer(SQUARE, objective=BOTH, method="mean", seed=0)
    s = optimizer.ask()
    optimizer.tell(s, {"yield": 80.0})
    assert not optimizer.observations.pending
    optimizer.tell(s, {"impurity": 0.2}, sd={"impurity": 0.05})
    (row,) = optimizer.observations.rows
    assert dict(row.outcomes) == {"yield": 80.0, "impurity": 0.2}
    assert dict(row.errors) == {"impurity": 0.05}
    with pytest.raises(SuggestionError, match="told already"):
        optimizer.tell(s, {"yield": 70.0})
    again = Optimizer(SQUARE, objective=BOTH, method="mean", seed=0)
    again.tell(optimizer.frame())
    assert again.observations == optimizer.observations


BAD = {
    "one number for several": (lambda o: o.tell(setting([0, 0]), 1.0), "several outcomes are told by name"),
    "an unknown outcome": (
        lambda o: o.tell(setting([0, 0]), {"yeld": 1.0}),
        "'yeld' is not known; the outcomes are",
    ),
    "text": (lambda o: o.tell(setting([0, 0]), {"yield": "good"}), "outcome 'yield': expected a finite number"),
    "an unknown error": (lambda o: o.tell(setting([0, 0]), {"yield": 1}, sd={"b": 1}), "sd 'b' is not known"),
    "failed in one": (
        lambda o: o.tell(pd.DataFrame({"a": [0.1], "b": [0.1], "yield": [1.0], "impurity": ["failed"]})),
        "row 0, column 'yield': the experiment failed",
    ),
    "a column is missing": (lambda o: o.tell(pd.DataFrame({"a": [0.1], "b": [0.1], "yield": [1]})), "lacks 'impurity'"),
    "no best yet": (lambda o: (o.tell(setting([0, 0]), {"yield": 1.0}), o.best()), "all of its outcomes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_with_several_outcomes_is_told(case):
    do, said = BAD[case]
    with pytest.raises(TableError, match=said):
        do(Optimizer(SQUARE, objective=BOTH, method="mean"))


def test_one_outcome_in_a_mapping_is_one_outcome():
    options = {"goal": "minimize"}, {"objective": {"y": "minimize"}}
    plain, mapped = (told(lambda x: -x[0], method="mean", **each) for each in options)
    assert dict(plain.ask()) == dict(mapped.ask())
    assert plain.best() == mapped.best()


def test_gaps_are_drawn_given_all_outcomes():
    """One outcome knows the missing a from below, the other from above: together they know it."""
    optimizer = Optimizer({"a": (0, 1)}, objective={"low": "maximize", "high": "maximize"}, seed=0)
    for x in np.linspace(0, 1, 15):
        optimizer.tell({"a": x}, {"low": abs(x - 0.3), "high": abs(x - 0.8)})
    for outcomes in ({"low": 0.2}, {"low": 0.2, "high": 0.3}):
        optimizer.tell({"a": None}, outcomes)
    first, second = (np.array(gap.draws, dtype=float) for gap in optimizer.gap_draws())
    assert min((first < 0.3).mean(), (first > 0.3).mean()) > 0.05  # 0.1 or 0.5
    assert (np.abs(second - 0.5) < 0.05).mean() > 0.9
