import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde

from bomi import Categorical, Integer, Optimizer, Prediction, Real, Space, Suggestion
from bomi.analysis import insight, plots, sensitivity
from bomi.errors import BomiError, FileError, MethodError

SPACE = Space({"a": (0, 10), "b": (1, 100), "kind": ["x", "y"]})


def told(outcome, *, rows=40, method="mean", goal="maximize", gaps=()):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame([SPACE.setting(place) for place in SPACE.expand(rng.random((rows, 3)))]).astype(object)
    frame["y"] = [outcome(row) for row in frame.to_dict("records")]
    for row, name, value in gaps:
        frame.loc[row, name] = value
    optimizer = Optimizer(SPACE, objective="y", goal=goal, method=method, seed=0)
    optimizer.tell(frame)
    return optimizer


@pytest.fixture(scope="module")
def bowl():
    return told(lambda row: -((row["a"] - 4) ** 2), gaps=[(3, "a", None), (5, "b", "20..30"), (7, "kind", "?")])


def test_predictions_follow_the_outcome_and_are_in_its_unit():
    optimizer = told(lambda row: -((row["a"] - 4) ** 2))
    near, far = optimizer.predict([{"a": 4, "b": 50, "kind": "x"}, {"a": 10, "b": 50, "kind": "x"}])
    assert near.mean == pytest.approx(0, abs=1)
    assert far.mean == pytest.approx(-36, abs=2)
    assert 0 < near.sd < 5


def test_predictions_keep_the_sign_of_what_is_minimized():
    optimizer = told(lambda row: (row["a"] - 4) ** 2, goal="minimize")
    assert optimizer.predict([{"a": 10, "b": 50, "kind": "x"}])[0].mean == pytest.approx(36, abs=4)
    assert optimizer.best().setting["a"] == pytest.approx(4, abs=0.7)


def test_slices_pass_through_the_setting(bowl):
    setting = {"a": 5.0, "b": 1.0, "kind": "y"}
    here = bowl.predict([setting])[0]
    found = {one.parameter: one for one in insight.slices(bowl, setting, points=11)}
    assert found["a"].values == pytest.approx(range(11))
    assert found["kind"].values == ("x", "y")
    for name, place in (("a", 5), ("b", 0), ("kind", 1)):
        assert (found[name].mean[place], found[name].sd[place]) == pytest.approx(here)


def test_importance_is_all_that_of_the_only_parameter_that_matters(bowl):
    first, *others = sensitivity.importance(bowl)
    assert first.parameter == "a"
    assert first.alone > 0.75
    assert first.total > 0.9
    assert first.verdict == "matters"
    assert all(one.total < 0.25 and one.verdict != "matters" for one in others)


def test_importance_of_a_sum_is_shared_by_the_variances():
    # Over the range, 2 a / 10 has a variance of 4 / 12 and b / 100 of 1 / 12: four to one.
    found = {one.parameter: one for one in sensitivity.importance(told(lambda row: 2 * row["a"] / 10 + row["b"] / 99))}
    assert found["a"].alone == pytest.approx(0.8, abs=0.04)
    assert found["b"].alone == pytest.approx(0.2, abs=0.04)
    assert found["a"].total == pytest.approx(found["a"].alone, abs=0.04)


@pytest.mark.parametrize("seed", range(5))
def test_of_many_parameters_none_explains_more_alone_than_with_others(seed):
    """With few points for each of them, the one that has nothing to say once was given 15 %."""
    A, B = sensitivity._pairs(12, 64, seed)
    places = [A, B, *(sensitivity._exchanged(A, B, j) for j in range(12))]
    alone, total = sensitivity.shares(np.stack([10 * x[:, 0] + 5 * np.sin(6 * x[:, 1]) for x in places])[None])
    assert (alone <= total).all()
    assert (alone[0, 2:] < 0.001).all()
    assert alone[0, :2].sum() > 0.6


def test_a_constant_outcome_makes_nothing_important():
    assert {one.verdict for one in sensitivity.importance(told(lambda row: 1.0))} == {"cannot be told"}


def test_the_nearest_row_is_by_the_largest_difference(bowl):
    optimizer = Optimizer(SPACE, objective="y", method="mean", seed=0)
    assert insight.nearest(optimizer, {"a": 5, "b": 1, "kind": "x"}) is None
    optimizer.tell({"a": 5, "b": 10.9, "kind": "x"}, 1)
    optimizer.tell({"a": 5, "b": 1, "kind": "y"}, 1)
    optimizer.tell({"a": None, "b": 1, "kind": "x"}, 1)
    found = insight.nearest(optimizer, {"a": 5, "b": 1, "kind": "x"})
    assert (found.row, found.parameter, found.share) == (0, "b", pytest.approx(0.1))


def test_why_says_explore_or_exploit_and_how_far(bowl):
    def why(mean, sd, a=4.0):
        suggestion = Suggestion("1", {"a": a, "b": 50.0, "kind": "x"}, Prediction(mean, sd))
        return str(insight.why(bowl, suggestion, Prediction(0.0, 1.0), labels=[f"#{i}" for i in range(40)]))

    assert why(-0.5, 0.5).startswith("exploit: ")
    assert why(-0.5, 9).startswith("exploit and explore: ")
    assert why(-20, 9).startswith("explore: ")
    assert "the nearest known row, #" in why(0, 1)
    assert insight.why(bowl, Suggestion("1", {}, None, "space-filling"), None) == ("", "space-filling")


def test_what_two_parameters_do_only_together_is_told():
    found = sensitivity.interactions(told(lambda row: row["a"] * (row["b"] - 50)))
    # f = xy with x uniform on (0, 10), y on (-49, 50): Var x Var y of Var f = E x^2 E y^2 - (E x E y)^2
    x, y = np.linspace(0, 10, 1001), np.linspace(-49, 50, 1001)
    share = x.var() * y.var() / ((x**2).mean() * (y**2).mean() - (x.mean() * y.mean()) ** 2)
    assert found[0, 1] == found[1, 0] == pytest.approx(share, abs=0.03)
    assert found[2].max() < 0.02
    assert sensitivity.interactions(told(lambda row: 1.0)).max() == 0


def test_of_noise_it_cannot_be_told_what_matters():
    rng = np.random.default_rng(3)
    found = sensitivity.importance(told(lambda row: rng.normal(), rows=24))
    assert {one.verdict for one in found} == {"cannot be told"}
    assert all(one.low <= one.total <= one.high for one in found)
    bowl = sensitivity.importance(told(lambda row: -((row["a"] - 4) ** 2)))
    assert [one.verdict for one in bowl] == ["matters", "hardly matters", "hardly matters"]


def test_draws_of_gaps_know_what_was_recorded_and_asked(bowl):
    a, b, kind = bowl.gap_draws()
    assert (a.row, a.parameter, a.recorded, a.asked) == (3, "a", None, None)
    assert str(b.recorded) == "20..30"
    assert all(draw in ("x", "y") for draw in kind.draws)
    assert insight.ranked_gaps(bowl)["row"].tolist() == [3, 5, 7]


def test_no_model_is_told():
    with pytest.raises(MethodError, match="no model"):
        told(lambda row: 1.0, method="random").predict([{"a": 4, "b": 50, "kind": "x"}])


def test_every_figure_is_saved_in_every_format(bowl, tmp_path):
    files, left_out = plots.save_all(bowl, tmp_path / "new" / "folder", unit="MPa")
    assert not left_out
    assert sorted(file.name for file in files) == sorted(
        f"{name}.{kind}"
        for name in ("outcomes", "gaps", "slices", "importance", "interactions", "map", "trust")
        for kind in ("png", "svg")
    )
    assert all(file.stat().st_size > 5000 for file in files)
    plots.save_all(bowl, tmp_path / "again", unit="MPa")
    assert (tmp_path / "again" / "gaps.svg").read_bytes() == (tmp_path / "new" / "folder" / "gaps.svg").read_bytes()


def test_figures_that_the_data_does_not_allow_are_left_out_with_the_reason(tmp_path):
    files, left_out = plots.save_all(told(lambda row: row["a"], method="random"), tmp_path, formats=["png"])
    assert [file.name for file in files] == ["outcomes.png"]
    assert len(left_out) == 6
    with pytest.raises(BomiError, match="no outcome"):
        plots.outcomes(Optimizer(SPACE, seed=0))


def test_a_folder_that_cannot_take_figures_is_told(bowl, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="the figures cannot be written to"):
        plots.save_all(bowl, tmp_path / "file")


def test_a_density_is_that_of_its_draws():
    draws = np.random.default_rng(0).normal(6, 0.5, 400).clip(0, 10)
    values, heights = insight.density(Real(0, 10), draws.tolist())
    places = np.array(values) / 10
    assert trapezoid(heights, places) == pytest.approx(1, abs=1e-3)
    assert places @ heights / heights.sum() == pytest.approx(draws.mean() / 10, abs=1e-3)
    spread = min(draws.std(), np.subtract(*np.quantile(draws, [0.75, 0.25])) / 1.349) / 10
    width = 0.9 * spread * 400**-0.2
    other = gaussian_kde(draws / 10, bw_method=width / (draws / 10).std(ddof=1))  # far from the bounds, the same
    assert heights == pytest.approx(other(places), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("parameter", [Real(1, 100, log=True), Real(0, 10, step=1), Integer(0, 10), Real(0, 10)])
def test_no_likelihood_is_lost_at_the_bounds(parameter):
    draws = [parameter.low] * 30 + [parameter.high] * 10
    values, heights = insight.density(parameter, draws)
    places = np.linspace(0, 1, len(values))
    assert trapezoid(heights, places) == pytest.approx(1, abs=0.02)
    assert values[0] == parameter.low
    assert heights[0] == pytest.approx(3 * heights[-1], rel=0.05)
    assert trapezoid(insight.density(parameter, draws[:1])[1], places) == pytest.approx(1, abs=0.02)


def test_the_density_of_categories_is_their_shares():
    assert insight.density(Categorical(["x", "y", "z"]), ["x", "y", "x", "x"])[1].tolist() == [0.75, 0.25, 0]


def test_the_only_parameter_there_is_explains_everything():
    optimizer = Optimizer(Space({"a": Real(0, 1)}), objective="y", method="mean", seed=0)
    optimizer.tell(pd.DataFrame({"a": [0.0, 0.3, 0.6, 1.0], "y": [0.0, 0.5, 0.4, 2.0]}))
    (only,) = sensitivity.importance(optimizer)
    assert (only.alone, only.total) == (pytest.approx(1, abs=0.02), pytest.approx(1, abs=0.02))
    assert only.verdict == "cannot be told"  # by four rows
    assert sensitivity.interactions(optimizer).tolist() == [[0.0]]


@pytest.mark.parametrize("method", ["posterior", "mean"])
def test_pairs_are_judged_by_what_is_expected_wherever_one_or_two_parameters_are_others(method):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(24), "kind": rng.choice(["x", "y", "z"], 24), "n": rng.integers(1, 6, 24)})
    frame["y"] = np.exp(2 * frame["a"] * (frame["kind"] == "y") + frame["n"] / 4)
    frame["day"] = rng.choice(["mo", "tu"], 24)
    space = {"a": (0, 1), "kind": Categorical(["x", "y", "z"]), "n": Integer(1, 5)}
    groups = ["day"] if method == "posterior" else []
    optimizer = Optimizer(space, objective="y", goal="minimize", method=method, groups=groups, seed=0)
    optimizer.tell(frame if groups else frame.drop(columns="day"))
    A, B = sensitivity._pairs(3, sensitivity.POINTS, optimizer.seed)

    def expected(*others):
        places = np.where(np.isin(np.arange(3), others), B, A)
        return optimizer.expected(optimizer.space.expand(places))[0]

    found = sensitivity.interactions(optimizer)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        together = ((expected() - expected(j) - expected(k) + expected(j, k)) ** 2).mean() / 4 / expected().var()
        assert found[j, k] == found[k, j] == pytest.approx(together, rel=1e-9)
        assert found[j, k] > 0
    assert found.diagonal().tolist() == [0, 0, 0]


def test_of_many_parameters_fewer_gaps_each_are_drawn_side_by_side(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(12)]
    frame = pd.DataFrame(rng.random((60, 12)), columns=names)
    frame["y"] = frame.sum(axis=1)
    for j, name in enumerate(names):
        frame.loc[rng.choice(60, 25 if j else 3, replace=False), name] = np.nan
    optimizer = Optimizer(dict.fromkeys(names, (0, 1)), objective="y", method="mode", seed=0)
    optimizer.tell(frame)
    figure = plots.gap_strips(optimizer)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels][:2] == ["x0", "x1, first 20 of 25"]
    assert len({axes.get_subplotspec().colspan.start for axes in panels}) == 3
    assert [bool(axes.get_xlabel()) for axes in panels] == [False] * 9 + [True] * 3
