"""What the other columns say of a gap: known answers, and calibration over the designs that tables come from."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import qmc
from sklearn.linear_model import LinearRegression

from bomi.impute.table import Table
from bomi.posterior.codes import to_codes
from bomi.posterior.copula import Columns
from bomi.posterior.priors import gap_priors
from bomi.posterior.regressions import Regressions
from bomi.posterior.spread import interpolate
from bomi.space import Categorical, Integer, Ordinal, Real, Space


def draws_of(space, inputs, count=400):
    """Draws of all gaps given the other columns, as codes.  (M, n, p)"""
    table = Table(space, inputs, torch.full_like(inputs, torch.nan), torch.zeros(len(inputs), dtype=torch.float64))
    codes = to_codes(table, inputs)
    priors = gap_priors(table, codes, 1)
    generator = torch.Generator().manual_seed(0)
    drawn = priors.draw(torch.randn(1, count, *priors.used.shape, generator=generator, dtype=torch.float64))[0]
    filled = codes.expand(count, -1, -1).clone()
    row, slot = priors.used.nonzero().unbind(-1)
    filled[:, priors.rows[row], priors.parameter[row, slot]] = drawn[:, row, slot]
    return filled


def covers(draws, truth):
    """How often a 90 % interval has the truth, whose place among equal draws is drawn at random."""
    below, equal = (draws < truth - 1e-9).mean(0), (np.abs(draws - truth) <= 1e-9).mean(0)
    inside = np.minimum(below + equal, 0.95) - np.maximum(below, 0.05)
    return np.where(equal > 0, inside.clip(0) / equal.clip(1e-9), (below >= 0.05) & (below <= 0.95)).mean()


# --- designs ----------------------------------------------------------------------------------------------------------

CORNERS = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
STAR = np.concatenate([1.682 * np.eye(3), -1.682 * np.eye(3)])
DESIGNS = {
    "two levels": lambda rng: np.repeat([[-1.0], [1.0]], 20, 0),
    "full factorial": lambda rng: CORNERS,
    "fractional factorial": lambda rng: np.column_stack([CORNERS, CORNERS.prod(1)]),
    "central composite": lambda rng: np.concatenate([np.unique(CORNERS[:, :3], axis=0), STAR, np.zeros((6, 3))]),
    "one factor at a time": lambda rng: np.array(
        [np.zeros(5), *[a * np.eye(5)[j] for j in range(5) for a in (-1.0, -0.5, 0.5, 1.0)]]
    ),
    "Latin hypercube": lambda rng: 2 * qmc.LatinHypercube(3, rng=rng).random(30) - 1,
    "duplicated rows": lambda rng: np.repeat(2 * qmc.LatinHypercube(3, rng=rng).random(20) - 1, 2, 0),
}


def with_margin(y):
    margin = 0.2 * float(np.ptp(y))
    return y, Real(float(y.min()) - margin, float(y.max()) + margin)


def one_sided(y):
    y = np.clip(y + 0.3, 0, None)
    return y, Real(0, float(y.max()))


def to_its_ends(y):
    return y, Real(float(y.min()), float(y.max()))


def whole(y):
    y = np.round(2 * y)
    return y, Integer(int(y.min()), int(y.max()))


def ordered(y):
    return np.clip(np.round(y + 2), 0, 4), Ordinal(["1", "2", "3", "4", "5"])


def place(y, parameter):
    return y / 4 if isinstance(parameter, Ordinal) else (y - parameter.low) / (parameter.high - parameter.low)


def measure(design, kind, *, seeds=40, noise=0.4):
    """Error against a linear regression's, and coverage, where the last column is linear in the others."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = (lambda X: (X - X.min(0)) / np.ptp(X, 0))(design(rng))
        signal = X @ rng.normal(size=X.shape[1])
        y, parameter = kind((signal - signal.mean()) / signal.std() + noise * rng.normal(size=len(X)))
        y = place(y, parameter)
        gaps = rng.permutation(len(X))[: max(len(X) // 5, 3)]
        known = np.setdiff1d(np.arange(len(X)), gaps)
        inputs = torch.tensor(np.column_stack([X, y]))
        inputs[gaps, -1] = torch.nan
        space = Space({**{f"x{j}": (0, 1) for j in range(X.shape[1])}, "y": parameter})
        drawn = parameter.snap(draws_of(space, inputs)[:, gaps, -1, None].numpy())[..., 0]
        fitted = LinearRegression().fit(X[known], y[known]).predict(X[gaps])
        found.append(
            [np.mean((drawn.mean(0) - y[gaps]) ** 2), np.mean((fitted - y[gaps]) ** 2), covers(drawn, y[gaps])]
        )
    ours, regression, cover = np.mean(found, 0)
    return math.sqrt(ours / regression), cover


@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_cover_and_errors_are_those_of_a_regression(name):
    ratio, cover = measure(DESIGNS[name], with_margin, seeds=120)
    assert ratio < 1.1
    assert 0.85 <= cover <= 0.95


@pytest.mark.parametrize("kind", [one_sided, whole, ordered, to_its_ends], ids=lambda kind: kind.__name__)
def test_columns_of_levels_and_those_that_reach_the_ends_of_their_range_are_filled_as_well(kind):
    for name in ("two levels", "fractional factorial", "one factor at a time"):
        ratio, cover = measure(DESIGNS[name], kind)
        assert ratio < 1.1
        assert 0.81 <= cover <= 0.96  # its standard error is 2 %


def test_what_would_lie_beyond_the_range_is_at_its_end():
    """b is a, up to noise; its range ends at 0.8, where few cells are. Where a is 0.8, half of b's draws are."""
    rng = np.random.default_rng(0)
    a = 0.8 * rng.random(60)
    b = np.clip(a + 0.05 * rng.normal(size=60), 0, 0.8) / 0.8
    inputs = torch.tensor(np.stack([np.append(a, [0.8, 0.3]), np.append(b, [np.nan, np.nan])], 1))
    columns = Columns.of(inputs, [Real(0, 1), Real(0, 1)])
    gaps = columns.gaps(inputs[60:])
    high, middle = gaps.draw(2000, torch.Generator().manual_seed(0)).T
    assert float((high == 1).double().mean()) == pytest.approx(0.5, abs=0.2)
    assert not (middle == 1).any()
    torch.testing.assert_close(gaps.means(), torch.stack([high.mean(), middle.mean()]), atol=0.01, rtol=0)


def test_a_factor_at_the_ends_of_its_range_says_what_it_says_inside():
    """b = 40 + 20 a + N(0, 4) in (20, 80), ten of forty blanks: once filled at the wrong end, sure of it."""
    found = {}
    for low, high in ((0.0, 1.0), (0.25, 0.75)):
        errors, covered = [], []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            a = np.repeat([low, high], 20)
            b = (20 + 20 * (a == high) + 4 * rng.normal(size=40)) / 60
            gaps = rng.permutation(40)[:10]
            inputs = torch.tensor(np.stack([a, b], 1))
            inputs[gaps, 1] = torch.nan
            drawn = draws_of(Space({"a": (0, 1), "b": (0, 1)}), inputs)[:, gaps, 1].numpy()
            errors.append(60 * (drawn.mean(0) - b[gaps]))
            covered.append(covers(drawn, b[gaps]))
        found[low] = np.sqrt(np.mean(np.square(errors))), np.mean(covered)
    assert found[0.0] == pytest.approx(found[0.25], rel=0.02)
    error, cover = found[0.0]
    assert error < 4.6
    assert 0.85 <= cover <= 0.95


@pytest.mark.parametrize(("columns", "rows"), [(3, 30), (6, 30), (12, 30), (6, 200)])
def test_columns_that_say_nothing_are_not_related_by_chance(columns, rows):
    found = []
    for seed in range(20):
        X = np.random.default_rng(seed).random((rows, columns))
        inputs = torch.tensor(X)
        inputs[::2, seed % columns] = torch.nan
        gaps = inputs.isnan().numpy()
        drawn = draws_of(Space({f"x{j}": (0, 1) for j in range(columns)}), inputs)[:, gaps].numpy()
        mean = np.nanmean(inputs.numpy(), 0)[seed % columns]
        found.append([np.mean((drawn.mean(0) - X[gaps]) ** 2), np.mean((mean - X[gaps]) ** 2), covers(drawn, X[gaps])])
    ours, mean, cover = np.mean(found, 0)
    assert math.sqrt(ours / mean) < 1.03
    assert 0.83 <= cover <= 0.95


# --- the regressions --------------------------------------------------------------------------------------------------


def test_with_many_rows_the_weights_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, -0.5, 0.0] + 0.3 * rng.normal(size=2000)
    features = torch.tensor(np.column_stack([X, y]))
    found = Regressions.of(features, torch.arange(4))
    scaled = found.weights[3, :3] * found.scale[3] / found.scale[:3]
    np.testing.assert_allclose(scaled, [1.0, -0.5, 0.0], atol=0.02)
    assert (found.noise[3].sqrt() * found.scale[3]).item() == pytest.approx(0.3, rel=0.05)
    mean, variance, _ = found.expect(torch.tensor([[1.0, 1.0, 1.0, torch.nan]], dtype=torch.float64))
    assert (found.center[3] + found.scale[3] * mean[0, 3]).item() == pytest.approx(0.5, abs=0.03)
    assert (variance[0, 3].sqrt() * found.scale[3]).item() == pytest.approx(0.3, rel=0.05)


def test_what_a_row_lacks_beside_the_gap_is_filled_in_and_widens_it():
    """y = a + b, where b = a too: without b, a says as much as both, but less surely."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=1000)
    b = a + 0.5 * rng.normal(size=1000)
    features = torch.tensor(np.stack([a, b, a + b + 0.1 * rng.normal(size=1000)], 1))
    features[:300, 1] = torch.nan
    found = Regressions.of(features, torch.arange(3))
    rows = torch.tensor([[1.0, 1.0, torch.nan], [1.0, torch.nan, torch.nan]], dtype=torch.float64)
    mean, variance, _ = found.expect(rows)
    place = found.center[2] + found.scale[2] * mean[:, 2]
    sd = found.scale[2] * variance[:, 2].sqrt()
    np.testing.assert_allclose(place, [2.0, 2.0], atol=0.1)
    np.testing.assert_allclose(sd, [0.1, math.hypot(0.5, 0.1)], rtol=0.15)


# --- levels, categories and several gaps ------------------------------------------------------------------------------


def probabilities(columns, codes, levels):
    """Of each level, for the one gap of each row.  (G, K)"""
    gaps = columns.gaps(codes)
    after, before = (
        interpolate(gaps.nodes, gaps.cdf, (levels + off).expand(len(codes), -1).contiguous()) for off in (1e-6, -1e-6)
    )
    return after - before


def test_a_gap_in_a_two_level_factor_is_one_of_the_levels_by_bayes_rule():
    """b is N(0.35, 0.1) for a = 0 and N(0.65, 0.1) for a = 1: log odds of a are 30 (b - 0.5)."""
    rng = np.random.default_rng(0)
    a = np.repeat([0.0, 1.0], 200)
    b = 0.35 + 0.3 * a + 0.1 * rng.normal(size=400)
    columns = Columns.of(torch.tensor(np.stack([a, b], 1)), [Real(0, 1), Real(0, 1)])
    at = torch.tensor([0.3, 0.45, 0.5, 0.55, 0.7], dtype=torch.float64)
    rows = torch.stack([torch.full_like(at, torch.nan), at], 1)
    found = probabilities(columns, rows, torch.tensor([0.0, 1.0], dtype=torch.float64))
    np.testing.assert_allclose(found.sum(-1), 1, atol=0.01)
    np.testing.assert_allclose(found[:, 1], torch.sigmoid(30 * (at - 0.5)), atol=0.06)
    assert columns.gaps(rows).stepped.all()


def test_a_value_that_comes_again_keeps_its_share_where_nothing_is_related():
    rng = np.random.default_rng(0)
    dose = np.where(rng.random(200) < 0.4, 0.0, rng.random(200))
    columns = Columns.of(torch.tensor(np.stack([dose, rng.random(200)], 1)), [Real(0, 1), Real(0, 1)])
    rows = torch.tensor([[torch.nan, 0.2], [torch.nan, 0.9]], dtype=torch.float64)
    found = probabilities(columns, rows, torch.tensor([0.0], dtype=torch.float64))
    np.testing.assert_allclose(found, np.mean(dose == 0), atol=0.02)


def test_a_category_says_what_a_number_is_and_a_number_what_the_category():
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], 30)
    heat = np.array([0.2, 0.5, 0.8])[kinds] + 0.05 * rng.normal(size=90)
    codes = torch.tensor(np.stack([kinds, heat], 1))
    columns = Columns.of(codes, [Categorical(["x", "y", "z"]), Real(0, 1)])
    number = columns.gaps(torch.tensor([[float(k), torch.nan] for k in range(3)], dtype=torch.float64))
    np.testing.assert_allclose(number.means(), [0.2, 0.5, 0.8], atol=0.03)
    rows = torch.tensor([[torch.nan, 0.2], [torch.nan, 0.8]], dtype=torch.float64)
    category = probabilities(columns, rows, torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64))
    assert category.argmax(-1).tolist() == [0, 2]
    assert category.amax(-1).min() > 0.9


def test_two_gaps_of_a_row_move_together():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    X = 0.5 + 0.12 * (np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(400, 3)))
    inputs = torch.tensor(X)
    inputs[0, :2] = torch.nan
    drawn = draws_of(Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)}), inputs, 4000)[:, 0, :2]
    partial = (0.8 - 0.8**2) / (1 - 0.8**2)
    assert torch.corrcoef(drawn.T)[0, 1].item() == pytest.approx(partial, abs=0.12)


def test_an_asked_category_has_nine_tenths_of_the_weight_at_least():
    space = Space({"q": ["x", "y", "z"]})
    inputs = torch.eye(3, dtype=torch.float64).repeat(4, 1)
    asked = torch.full_like(inputs, torch.nan)
    inputs[0], asked[0] = torch.nan, torch.tensor([0.0, 0.0, 1.0])
    table = Table(space, inputs, asked, torch.zeros(12, dtype=torch.float64))
    priors = gap_priors(table, to_codes(table, inputs), 1)
    drawn = priors.draw(torch.randn(1, 4000, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    assert (drawn == 2).double().mean().item() == pytest.approx(0.93, abs=0.02)


# --- what must always hold --------------------------------------------------------------------------------------------

cells = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
tables = st.integers(1, 25).flatmap(lambda n: st.lists(st.tuples(*[cells] * 3), min_size=n, max_size=n))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_every_gap_has_a_distribution_and_every_row_a_correlation(rows):
    numbers = torch.tensor([[math.nan if x is None else x for x in row] for row in rows], dtype=torch.float64)
    codes = torch.cat([numbers, (2 * numbers[:, :1]).round()], -1)
    columns = Columns.of(codes, [Real(0, 1), Ordinal([1, 2, 3]), Real(0, 1), Categorical(["x", "y", "z"])])
    gaps = columns.gaps(codes)
    assert len(gaps.nodes) == int(codes.isnan().sum())
    assert gaps.nodes.isfinite().all()
    assert (gaps.nodes.diff() >= 0).all()
    assert (gaps.cdf.diff() >= -1e-12).all()
    assert ((gaps.cdf >= -1e-12) & (gaps.cdf <= 1 + 1e-12)).all()
    assert torch.linalg.eigvalsh(gaps.correlation).min() > 0
    numeric = codes.isnan().nonzero()[:, 1] < 3
    assert (gaps.nodes[numeric] <= 1).all()
    assert (gaps.nodes >= 0).all()


def test_parts_of_a_whole_follow_from_each_other():
    """One part is lacking, and the sum of all is exact; some parts are 0, at the end of their range."""
    rng = np.random.default_rng(0)
    parts = rng.dirichlet([1, 1, 1], 60) * (rng.random((60, 3)) < 0.7)
    parts = parts[parts.sum(1) > 0]
    parts /= parts.sum(1, keepdims=True)
    inputs = torch.tensor(parts)
    inputs[np.arange(20), np.arange(20) % 3] = torch.nan
    drawn = draws_of(Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)}), inputs)
    assert drawn.isfinite().all()
    assert (drawn.median(0).values - torch.tensor(parts)).abs().max() < 0.06


def test_two_lacking_parts_of_a_whole_are_as_wide_as_what_is_left():
    """a is 0.2; b and c are lacking. The sum is exact, and rounding errors do not say how b is spread."""
    parts = np.append(np.random.default_rng(3).dirichlet([1, 1, 1], 40), [[0.2, np.nan, np.nan]], 0)
    drawn = draws_of(Space(dict.fromkeys("abc", (0, 1))), torch.tensor(parts))[:, -1, 1]
    assert drawn.std().item() == pytest.approx(0.8 / math.sqrt(12), abs=0.06)
    assert 0.1 < float((drawn < 0.2).double().mean()) < 0.4


def test_a_constant_column_and_a_copy_of_another_are_filled():
    rng = np.random.default_rng(0)
    a = rng.random(30)
    inputs = torch.tensor(np.stack([a, a, np.full(30, 0.3)], 1))
    inputs[0, 1], inputs[1, 2] = torch.nan, torch.nan
    drawn = draws_of(Space({"a": (0, 1), "b": (0, 1), "c": (0, 1)}), inputs)
    assert (drawn[:, 0, 1] - a[0]).abs().quantile(0.9) < 0.01
    assert (drawn[:, 1, 2] == 0.3).double().mean() > 0.9
