import math

import pytest
import torch
from scipy.stats import multivariate_normal

from bomi.impute.transform import Transform
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.posterior import warping
from bomi.posterior.warping import NOISES, _log_normality, choose_transform, log_evidence, same_transform
from bomi.space import Real, Space

SPACE = Space({f"x{j}": Real(0, 1) for j in range(3)})


def places(count=60, seed=0):
    return torch.rand(count, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tame(x):
    """A sum over the parameters, the best at (0.3, 0.3, 0.3)."""
    return (torch.sin(4 * x) - 6 * (x - 0.3).square()).sum(-1)


def scaled(outcomes, x, **settings):
    return choose_transform(outcomes, settings.pop("target", None), x, SPACE, **settings)


def test_a_tame_outcome_is_not_warped():
    outcomes = 300 + 20 * tame(places())
    transform = scaled(outcomes, places())
    assert transform.warp == 0
    targets = transform.to_targets(outcomes)
    assert targets.mean().abs() < 1e-12
    assert targets.std(correction=0) == pytest.approx(1)


def test_rows_crowded_near_the_best_are_no_reason_to_warp():
    """As an optimizer leaves them: by themselves their outcomes are anything but normal."""
    x = torch.cat([places(20), 0.3 + 0.3 * (places(40, seed=1) - 0.5)])
    outcomes = tame(x)
    z = (outcomes - outcomes.mean()) / outcomes.std()
    assert z.pow(4).mean() > 5  # a normal distribution has 3
    assert scaled(outcomes, x).warp == 0


def test_one_heavy_tail_of_bad_outcomes_is_drawn_in_from_the_best():
    outcomes = -torch.exp(-3 * tame(places()))
    transform = scaled(outcomes, places())
    assert transform.warp > 0
    assert transform.origin == "best"
    assert transform.center == float(outcomes.max())
    near_best = outcomes.topk(2).values
    plain = (near_best - outcomes.mean()) / outcomes.std()
    assert transform.to_targets(near_best).diff().abs() > 10 * plain.diff().abs()


def test_two_heavy_tails_are_drawn_in_around_the_median():
    inner = tame(places())
    outcomes = torch.sinh(4 * (inner - inner.median()))
    transform = scaled(outcomes, places())
    assert transform.warp >= 1
    assert transform.origin != "best"
    assert transform.center == pytest.approx(float(outcomes.median()))
    assert transform.to_targets(outcomes).abs().max() < 5


def test_where_nothing_better_comes_the_upper_tail_is_left_as_it_is():
    inner = tame(places())
    both = torch.sinh(4 * (inner - inner.median()))
    assert scaled(both, places(), keep_upper_tail=False).warp > 0
    transform = scaled(both, places(), keep_upper_tail=True)
    assert transform.origin == "best" or transform.warp == 0
    upper = torch.exp(4 * inner)
    assert scaled(upper, places(), keep_upper_tail=False).warp > 0
    assert scaled(upper, places(), keep_upper_tail=True).warp == 0
    around = scaled(7 + both, places(), target=7.0, keep_upper_tail=True)  # both sides of a target are alike
    assert around.warp > 0


def test_outcomes_are_warped_around_a_target():
    outcomes = 7 + torch.sinh(4 * (tame(places()) - tame(places()).mean()))
    transform = scaled(outcomes, places(), target=7.0)
    assert transform.warp > 0
    assert transform.center == 7.0


def test_outcomes_near_the_ends_of_their_range_are_spread_out():
    inner = tame(places())
    outcomes = 100 * torch.sigmoid(3 * (inner - inner.median()))
    transform = scaled(outcomes, places(), ends=(0.0, 100.0))
    assert transform.origin == "range"
    assert transform.half * transform.unit == pytest.approx(50)
    assert scaled(outcomes, places()).origin != "range"  # nobody has said so
    small = torch.exp(inner)
    from_zero = scaled(small, places(), ends=(0.0, math.inf))
    assert (from_zero.origin, from_zero.center, from_zero.half) == ("range", 0.0, 0.0)
    kept = same_transform(small[:40], None, from_zero, (0.0, math.inf))
    assert kept.shape == from_zero.shape


def test_outcomes_that_are_cut_off_at_an_end_are_not_spread_out_there():
    inner = 40 * (tame(places()) - tame(places()).median())
    cut = inner.clamp_min(0)
    assert (cut == 0).double().mean() > 0.1
    assert scaled(cut, places(), ends=(0.0, math.inf)).origin != "range"


def test_a_range_far_away_changes_nothing():
    outcomes = 300 + 20 * tame(places())
    assert scaled(outcomes, places(), ends=(0.0, 1000.0)) == scaled(outcomes, places())


def test_where_nothing_better_comes_a_range_keeps_the_best_apart():
    """A logit near 100 does; the logarithm of outcomes above 0 does not."""
    inner = tame(places())
    upper = torch.exp(4 * inner)
    assert scaled(upper, places(), ends=(0.0, math.inf)).origin == "range"
    assert scaled(upper, places(), ends=(0.0, math.inf), keep_upper_tail=True).warp == 0
    full = 100 * torch.sigmoid(3 * (inner - inner.median()) + 2)
    assert scaled(full, places(), ends=(0.0, 100.0), keep_upper_tail=True).origin == "range"


def test_rows_without_a_place_have_no_say():
    x = places()
    nowhere = torch.full_like(x, torch.nan)
    skewed = -torch.exp(-tame(x))
    assert scaled(skewed, x).warp > 0
    assert scaled(skewed, nowhere).warp == 0


def test_a_warp_is_kept_if_so_wished():
    outcomes = -torch.exp(-3 * tame(places()))
    kept = same_transform(outcomes, None, Transform(warp=0.3))
    assert kept.shape == (0.3, "middle")
    assert kept.to_targets(outcomes).std(correction=0) == pytest.approx(1)
    assert same_transform(torch.full((5,), 2.0, dtype=torch.float64), None, Transform(warp=3.0)).warp == 0


def test_parameters_that_matter_unequally_are_no_reason_to_warp():
    """A bowl that is thirty times as long as it is wide: no lengths that are all alike explain it."""
    weights = torch.logspace(0, 3, 8, dtype=torch.float64)
    space = Space({f"x{j}": Real(0, 1) for j in range(8)})
    for seed in range(3):
        x = torch.rand(60, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        x[30:] = 0.3 + 0.2 * (x[30:] - 0.5)
        assert choose_transform(-(weights * (x - 0.3).square()).sum(-1), None, x, space).warp == 0


def test_the_evidence_is_a_density_of_the_outcomes(monkeypatch):
    """By SciPy's normal density, the derivative of w by differences, and the same hyper-parameters: those of the grid,
    and two others that the search is made to find."""
    x = places(12)
    outcomes = torch.exp(tame(x))
    choices = [Transform(0.1, 2.0, 1.0, 1.5), Transform(-0.3, 1.2, 0.5, 2.0, warp=3.0)]
    kernel = AdditiveMatern((0, 1, 2))
    others = kernel.starts()[:2] + torch.linspace(-1, 1, 8, dtype=torch.float64)
    searched = torch.cat([others, torch.zeros(2, 1, dtype=torch.float64)], -1), torch.zeros(2, dtype=torch.float64)
    monkeypatch.setattr(warping, "maximize", lambda *told, most: searched)
    expected = {}
    for place, choice in enumerate(choices):
        w, step = choice.to_targets(outcomes), 1e-6
        slope = (choice.to_targets(outcomes + step) - choice.to_targets(outcomes - step)) / (2 * step)
        for start in torch.cat([kernel.starts(), others]):
            C = cross(kernel, start[None], x[None], x[None])[0]
            for level, noise in enumerate(NOISES):
                matrix = C + noise * torch.eye(12, dtype=torch.float64)
                scale = float(w @ torch.linalg.solve(matrix, w)) / 12
                density = multivariate_normal(cov=(scale * matrix).numpy(), allow_singular=True).logpdf(w.numpy())
                hyper = start.clone()
                hyper[0] = math.log(scale)
                hyper = torch.cat([hyper, torch.tensor([math.log(scale * noise)], dtype=torch.float64)])
                value = density + float(kernel.log_prior(hyper[None])[0] + slope.log().sum())
                expected[level, place] = max(value, expected.get((level, place), -math.inf))
    found = log_evidence(choices, outcomes, x, kernel)
    for at, value in expected.items():
        assert float(found[at]) == pytest.approx(value, abs=1e-4)


def test_noisy_outcomes_are_warped_no_more_than_they_must_be():
    """The same heavy-tailed outcomes, with and without noise: only a function is worth drawing in."""
    x = places(60)
    outcomes = -torch.exp(2.5 * tame(x))
    noise = outcomes.std() * torch.randn(60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    space = Space(dict.fromkeys("abc", (0, 1)))
    assert choose_transform(outcomes, None, x, space).warp >= 1
    assert choose_transform(outcomes + 0.3 * noise, None, x, space).warp <= 0.3


@pytest.mark.parametrize("outcomes", [[], [3.0], [2.0, 2.0, 2.0], [1e-12, 2e-12], [1e300, -1e300, 0.0]])
def test_targets_are_finite_and_of_order_one(outcomes):
    values = torch.tensor(outcomes, dtype=torch.float64)
    targets = scaled(values, places(len(values))).to_targets(values)
    assert targets.isfinite().all()
    assert (targets.abs() < 10).all()


def test_normality_is_the_log_density_of_outcomes_that_are_normal_on_a_scale():
    """Up to a constant, the same for all scales on which the targets have mean 0 and standard deviation 1."""
    outcomes = torch.exp(2 * tame(places(30)))
    found, expected = [], []
    for warp in (0.0, 0.3, 3.0):
        transform = same_transform(outcomes, None, Transform(warp=warp))
        targets, step = transform.to_targets(outcomes), 1e-6
        slope = (transform.to_targets(outcomes + step) - transform.to_targets(outcomes - step)) / (2 * step)
        found.append(_log_normality(transform, outcomes))
        expected.append(float(torch.distributions.Normal(0.0, 1.0).log_prob(targets).sum() + slope.log().sum()))
    assert [one - found[0] for one in found] == pytest.approx([one - expected[0] for one in expected], abs=1e-4)
