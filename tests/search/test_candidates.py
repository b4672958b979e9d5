import itertools
import math

import numpy as np
import pytest
import torch

from bomi import Categorical, Integer, Linear, Real, Space
from bomi.errors import SuggestionError
from bomi.search.candidates import RAW, _pick, best_of, maximize, space_filling
from bomi.search.local import EXACTLY, optimize
from bomi.search.trust_region import Region

BOX = Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
MIXED = Space({"a": (0, 1), "n": Integer(1, 8), "d": Real(0, 1, step=0.25), "c": ["x", "y", "z"]})


def target(*place):
    return torch.tensor(place, dtype=torch.float64)


def bowl(at, weights=1.0):
    return lambda x: -(weights * (x - at).square()).sum(-1)


# --- known optima ---


@pytest.mark.parametrize("at", [(0.3, 0.7, 0.512), (0.5, 0.5, 0.5), (0.001, 0.999, 0.25)])
def test_the_top_of_a_quadratic(at):
    place = maximize(bowl(target(*at)), BOX, seed=0)
    value = float((bowl(target(*at)))(place[None])[0])
    torch.testing.assert_close(place, target(*at), rtol=0, atol=1e-4)
    assert value == pytest.approx(0, abs=1e-8)


def test_the_top_of_a_narrow_ridge():
    weights = target(1.0, 100.0, 10_000.0)
    place = maximize(bowl(target(0.2, 0.4, 0.6), weights), BOX, seed=0)
    torch.testing.assert_close(place, target(0.2, 0.4, 0.6), rtol=0, atol=1e-2)


@pytest.mark.parametrize("at", [(1.5, -0.2, 0.5), (2.0, 2.0, 2.0), (-1.0, -1.0, -1.0)])
def test_an_optimum_in_a_corner_or_on_an_edge(at):
    place = maximize(bowl(target(*at)), BOX, seed=0)
    torch.testing.assert_close(place, target(*at).clamp(0, 1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_highest_of_many_peaks(seed):
    space = Space({"x": (0, 1)})

    def score(x):
        return (torch.sin(40 * x) + 0.5 * torch.cos(13 * x) + x).squeeze(-1)

    grid = torch.linspace(0, 1, 200_001, dtype=torch.float64)[:, None]
    place = maximize(score, space, seed=seed)
    value = float((score)(place[None])[0])
    assert value == pytest.approx(score(grid).max().item(), abs=1e-6)
    assert score(place[None]).item() == pytest.approx(value)


def test_a_close_look_stays_within_its_region():
    place = maximize(bowl(target(0.3, 0.9, 0.5)), BOX, seed=0, within=Region(target(0.3, 0.6, 0.5), 0.05))
    torch.testing.assert_close(place, target(0.3, 0.65, 0.5), rtol=0, atol=1e-4)


def test_a_number_of_points_is_a_search_without_ascent():
    score, count = bowl(target(2.0, 2.0, 2.0)), 1000
    place = best_of(score, BOX, seed=3, points=count)
    value = float(score(place[None])[0])
    points = space_filling(BOX, count, seed=3)
    assert value == score(points).max().item()
    assert torch.equal(place, points[score(points).argmax()])
    assert float(score(maximize(score, BOX, seed=3)[None])[0]) > value  # L-BFGS reaches the corner
    assert not torch.equal(best_of(score, BOX, seed=3, points=count, taken=place[None]), place)


def test_a_start_leads_to_a_peak_too_narrow_to_be_met_by_chance():
    at = target(0.123, 0.456, 0.789)

    def score(x):
        return torch.exp(-((x - at) / 0.003).square().sum(-1)) + 0.1 * bowl(target(0.9, 0.9, 0.9))(x)

    place = maximize(score, BOX, seed=0, starts=(at + 0.002)[None])
    torch.testing.assert_close(place, at, rtol=0, atol=1e-3)


# --- discrete parameters ---


def brute_force(score, space):
    grids = []
    for parameter in space.parameters.values():
        places = parameter.every()
        grids.append(places or [[u] for u in np.linspace(0, 1, 401)])
    points = torch.tensor([[u for part in point for u in part] for point in itertools.product(*grids)]).double()
    values = score(points)
    return points[values.argmax()], values.max().item()


def test_an_integer_optimum_where_rounding_the_relaxed_one_would_be_wrong():
    space = Space({"a": (0, 1), "n": Integer(0, 4)})

    def score(x):  # a ridge a = n + shift, falling along it: relaxed top at n = 0.62 of the range, 2.48 -> 2
        a, n = x[:, 0], x[:, 1]
        return -200 * (a - n).square() - (n - 0.62).square() + 0.4 * torch.cos(2 * math.pi * 4 * (n - 0.75) / 2)

    expected, best = brute_force(score, space)
    place = maximize(score, space, seed=0)
    value = float((score)(place[None])[0])
    assert space.from_unit(place.numpy())["n"] == space.from_unit(expected.numpy())["n"] == 3
    assert value >= best - 1e-9


def test_a_category_whose_best_continuous_setting_is_elsewhere():
    space = Space({"a": (0, 1), "c": ["x", "y", "z"]})
    tops, heights = target(0.1, 0.5, 0.9), target(0.0, 0.2, 0.21)

    def score(x):  # each category has its own optimum of a, the best by a little and narrow
        category = x[:, 1:]
        return (category * (heights - target(1.0, 1.0, 40.0) * (x[:, :1] - tops).square())).sum(-1)

    place = maximize(score, space, seed=0)
    value = float((score)(place[None])[0])
    assert space.from_unit(place.numpy())["c"] == "z"
    assert value == pytest.approx(0.21, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_spaces_equal_brute_force(seed):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(MIXED.dim, MIXED.dim, generator=generator, dtype=torch.float64)
    at = torch.rand(MIXED.dim, generator=generator, dtype=torch.float64)

    def score(x):
        return -((x - at) @ A).square().sum(-1) + 0.2 * torch.sin(9 * x.sum(-1))

    _, best = brute_force(score, MIXED)
    assert float(score(maximize(score, MIXED, seed=seed)[None])[0]) >= best - 1e-9


def test_a_small_discrete_space_is_enumerated():
    space = Space({"n": Integer(-3, 9), "d": Real(0, 1, step=0.1), "c": Categorical(list("uvwxyz"))})
    values = torch.rand(13 * 11 * 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def score(x):  # one random number for each point: nothing but looking at all of them finds the largest
        n, d = (12 * x[:, 0]).round().long(), (10 * x[:, 1]).round().long()
        return values[(n * 11 + d) * 6 + x[:, 2:].argmax(-1)]

    assert float(score(maximize(score, space, seed=0)[None])[0]) == values.max().item()


def test_a_large_discrete_space_is_searched():
    space = Space({"a": Integer(0, 10_000), "b": Integer(0, 10_000)})
    place = maximize(bowl(target(0.1234, 0.8765)), space, seed=0)
    assert space.from_unit(place.numpy()) == {"a": 1234, "b": 8765}


# --- what is asked of every result ---


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("space", [BOX, MIXED, Space({"n": Integer(0, 1)}), Space({"t": Real(1, 1e4, log=True)})])
def test_results_are_admissible_and_the_same_for_the_same_seed(space, seed):
    weights = torch.randn(space.dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    def score(x):
        return torch.sin(7 * x @ weights) + x @ weights

    place = maximize(score, space, seed=seed)
    value = float((score)(place[None])[0])
    again = maximize(score, space, seed=seed)
    same = float(score(again[None])[0])
    assert torch.equal(place, again)
    assert value == same
    assert ((place >= 0) & (place <= 1)).all()
    np.testing.assert_allclose(space.snap(place.numpy()), place.numpy(), atol=1e-12)


def test_taken_points_are_left_alone():
    space = Space({"n": Integer(0, 3), "c": ["x", "y"]})
    taken = torch.empty(0, 3, dtype=torch.float64)
    for _ in range(8):
        place = maximize(lambda x: x[:, 0] + 0.1 * x[:, 1], space, seed=0, taken=taken)
        taken = torch.cat([taken, place[None]])
    assert len({tuple(row) for row in taken.tolist()}) == 8
    with pytest.raises(SuggestionError, match="no setting of the space is left: 8 are pending"):
        maximize(lambda x: x[:, 0] + 0.1 * x[:, 1], space, seed=0, taken=taken)


def test_where_all_that_was_looked_at_is_taken_another_point_is_found():
    space = Space({"n": Integer(0, 99), "m": Integer(0, 99)})  # too many to enumerate
    raw = space_filling(space, 4, seed=0)
    place = maximize(lambda x: x[:, 0], space, seed=0, shortlist=raw, taken=raw)
    again = maximize(lambda x: 0 * x[:, 0], space, seed=0, shortlist=raw, taken=torch.cat([raw, place[None]]))
    assert (raw != again).any(-1).all()


def test_a_taken_optimum_gives_another_point():
    at = target(1.0, 1.0, 1.0)
    place = maximize(bowl(at), BOX, seed=0, taken=at[None])
    assert (place - at).norm() > 1e-6


def test_a_score_that_is_nowhere_a_number_still_gives_a_point():
    place = maximize(lambda x: x.sum(-1) * torch.nan, BOX, seed=0)
    assert ((place >= 0) & (place <= 1)).all()


def test_a_flat_score_gives_a_point():
    place = maximize(lambda x: 0 * x.sum(-1), MIXED, seed=0)
    value = float((lambda x: 0 * x.sum(-1))(place[None])[0])
    assert value == 0
    np.testing.assert_allclose(MIXED.snap(place.numpy()), place.numpy(), atol=1e-12)


# --- space-filling points ---


def test_space_filling_points_continue_one_sequence():
    together = space_filling(MIXED, 6, seed=3)
    alone = torch.cat([space_filling(MIXED, 1, seed=3, skip=k) for k in range(6)])
    assert torch.equal(together, alone)
    assert not torch.equal(together, space_filling(MIXED, 6, seed=4))


def test_space_filling_points_fill_the_space():
    points = space_filling(BOX, 64, seed=0)
    cells = {tuple(row) for row in (points * 4).floor().int().tolist()}
    assert len(cells) > 40  # of 64; independent points meet about 41 on average, and often fewer
    for column in points.T:
        assert np.histogram(column.numpy(), bins=8, range=(0, 1))[0].tolist() == [8] * 8


def test_worlds_share_the_first_look_and_the_best_point_is_still_found():
    def score(x):
        return -(x - 0.3).square().sum(-1)

    looked = []

    def scout(x):
        looked.append(len(x))
        return score(x)

    plain = maximize(score, BOX, seed=0)
    found = maximize(score, BOX, seed=0, per_world=[scout, scout, scout])
    assert torch.allclose(found, plain, atol=1e-4)
    assert sum(looked) == RAW
    assert max(looked) - min(looked) <= 1


def test_the_best_point_is_always_a_start_and_the_others_are_good_ones():
    values = torch.linspace(0, 1, 200, dtype=torch.float64)[
        torch.randperm(200, generator=torch.Generator().manual_seed(0))
    ]
    for seed in range(20):
        picked = _pick(values, seed, 8)
        assert int(picked[0]) == int(values.argmax())
        assert len(set(picked.tolist())) == 8
    many = torch.cat([values[_pick(values, seed, 8)[1:]] for seed in range(50)])
    assert many.mean() > 0.75
    unknown = torch.tensor([0.2, torch.nan, -torch.inf, 0.5], dtype=torch.float64)
    assert int(_pick(unknown, 0, 2)[0]) == 3


def test_what_several_discrete_parameters_gain_is_gained_at_once():
    """From far away in twelve whole numbers, a step for each alone would take twelve rounds."""
    space = Space({f"n{j}": Integer(0, 9) for j in range(12)})
    at = torch.linspace(0, 1, 12, dtype=torch.float64)
    calls = []

    def score(x):
        calls.append(len(x))
        return -(x - at).square().sum(-1)

    far = torch.from_numpy(space.snap((1 - at)[None].numpy()))
    points, values = optimize(score, space, far, None, EXACTLY)
    expected = torch.from_numpy(space.snap(at[None].numpy()))
    assert torch.equal(points, expected)
    assert values == score(expected)
    assert len(calls) < 12


def test_changes_made_at_once_keep_the_constraints():
    """Each of two numbers alone may rise to 6, both may not."""
    space = Space({"n": Integer(0, 9), "m": Integer(0, 9)}, constraints=[Linear({"n": 1, "m": 1}, max=9)])
    points, values = optimize(lambda x: x[:, 0] + 1.1 * x[:, 1], space, torch.zeros(1, 2).double(), None, EXACTLY)
    assert space.from_unit(points[0].numpy()) == {"n": 0, "m": 9}
    assert float(values) == pytest.approx(1.1)
