"""The prior of the additive kernel, and what a search for hyper-parameters begins from, by hand."""

import itertools
import math

import pytest
import torch
from torch.distributions import Normal, StudentT

from bomi.impute.table import Table
from bomi.model import additive, fitting, kernels
from bomi.model.additive import AdditiveCandidates, AdditiveMatern
from bomi.model.fitting import Pairs, maximize_evidence, negative_log_evidence
from bomi.model.kernels import ExpectedSquaredExponential, SquaredExponential, cross
from bomi.posterior.codes import to_codes
from bomi.space import Categorical, Space

KERNEL = AdditiveMatern((0, 1, 1, 2))  # three parameters, the second with two columns


def test_the_prior_is_the_one_that_is_written_down():
    """log s^2 ~ N(0, 1), logit w ~ N(0, 4), mean lengths N(log 0.3, 1) and N(log 0.3 sqrt(p), 1), each length by
    Student's t with 3 degrees of freedom times 0.4, the log noise N(-4.5, 1.5^2) above -4.5 and flat below."""
    hyper = 2 * torch.randn(50, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hyper[:25, -1] -= 9

    def log_prior(values):
        scale, weight, alone, together, noise = values.split([1, 1, 3, 3, 1], -1)
        total = Normal(0.0, 1.0).log_prob(scale) + Normal(0.0, 2.0).log_prob(weight)
        total = total + Normal(-4.5, 1.5).log_prob(noise.clamp_min(-4.5))
        for lengths, center in ((alone, math.log(0.3)), (together, math.log(0.3 * math.sqrt(3)))):
            mean = lengths.mean(-1, keepdim=True)
            total = total + Normal(center, 1.0).log_prob(mean)
            total = total + StudentT(3.0, 0.0, 0.4).log_prob(lengths - mean).sum(-1, keepdim=True)
        return total[:, 0]

    found, _ = KERNEL.log_prior(hyper)
    torch.testing.assert_close(found - found[0], log_prior(hyper) - log_prior(hyper)[0])


def test_the_additive_kernel_is_the_one_that_is_written_down():
    generator = torch.Generator().manual_seed(1)
    theta = torch.randn(1, 8, generator=generator, dtype=torch.float64)
    x = torch.rand(2, 4, generator=generator, dtype=torch.float64)
    x[:, 1:3] = torch.eye(2, dtype=torch.float64)  # two different categories, at distance 1
    apart = torch.stack([(x[0, 0] - x[1, 0]).abs(), torch.tensor(1.0).double(), (x[0, 3] - x[1, 3]).abs()])

    def matern(r):
        a = math.sqrt(5) * r
        return (1 + a + a**2 / 3) * torch.exp(-a)

    weight = torch.sigmoid(theta[0, 1])
    additive = matern(apart / theta[0, 2:5].exp()).mean()
    joint = matern((apart / theta[0, 5:8].exp()).square().sum().sqrt())
    expected = theta[0, 0].exp() * (weight * additive + (1 - weight) * joint)
    with torch.no_grad():
        assert float(cross(KERNEL, theta, x[None, :1], x[None, 1:])) == pytest.approx(float(expected))


@pytest.mark.parametrize("kernel", [KERNEL, SquaredExponential()])
def test_a_long_matrix_is_computed_in_strips_as_at_once(kernel, monkeypatch):
    theta = torch.zeros(2, 8 if kernel is KERNEL else 2, dtype=torch.float64)
    x, z = torch.rand(2, 2, 30, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    with torch.no_grad():
        whole = [cross(kernel, theta, x, x), cross(kernel, theta, x, z)]
        monkeypatch.setattr("bomi.model.kernels.STRIP", 2 * 30 * 4 * 7)
        for one, other in zip(whole, (x, z), strict=True):
            torch.testing.assert_close(cross(kernel, theta, x, other), one)


# --- where a search begins --------------------------------------------------------------------------------------------


def wave(worlds=2):
    x = torch.linspace(0, 1, 18, dtype=torch.float64)
    y = torch.sin(9 * x)
    return Pairs(SquaredExponential(), x[None, :, None].repeat(worlds, 1, 1)), (y - y.mean()) / y.std()


def test_a_search_begins_from_the_best_points_of_every_noise_level_and_none_that_is_hopeless():
    pairs, y = wave()
    value, points = (part.squeeze(2) for part in fitting.grid(pairs, y[:, None]))
    starts, worlds = fitting._starts(pairs, y, keep=3)
    for world in (0, 1):
        own = starts[worlds == world]
        places = [(points[:, world] == one).all(-1).nonzero().item() for one in own]
        assert value[places[0], world] == value[:, world].max()
        assert (value[places, world] > value[:, world].max() - fitting.BEHIND).all()
        levels = [place % len(fitting.STARTING_NOISES) for place in places]
        assert len(set(levels)) == len(levels)
        for place, level in zip(places, levels, strict=True):
            assert value[place, world] == value[level :: len(fitting.STARTING_NOISES), world].max()
    hopeful = value > value.amax(0) - fitting.BEHIND
    assert not hopeful.all()
    assert len(fitting._starts(pairs, y, keep=len(value))[0]) == hopeful.sum()


def test_of_several_starts_a_world_keeps_the_best():
    pairs, y = wave()
    starts = torch.tensor([[0.0, math.log(0.1), -6.0], [-10.0, 1.0, 0.0]], dtype=torch.float64)
    alone = maximize_evidence(pairs, y, starts, most=30)
    values, _ = negative_log_evidence(alone, pairs, y)
    assert values[0] < values[1] - 5
    worlds = torch.tensor([0, 0, 1, 1])
    both = maximize_evidence(pairs, y, starts[[0, 1, 1, 0]], most=30, worlds=worlds)
    torch.testing.assert_close(negative_log_evidence(both, pairs, y)[0], values[:1].expand(2), atol=1e-3, rtol=1e-3)


def test_the_gradient_of_the_evidence_knows_the_prior():
    """By differences, for the kernel that has a prior."""
    generator = torch.Generator().manual_seed(3)
    x, y = torch.rand(2, 9, 4, generator=generator, dtype=torch.float64), torch.randn(9, generator=generator).double()
    at = torch.randn(2, 9, generator=generator, dtype=torch.float64) - torch.tensor([0.0] * 8 + [3.0])
    pairs, step = Pairs(KERNEL, x), 1e-5
    _, gradient = negative_log_evidence(at, pairs, y)
    for j in range(9):
        shift = step * torch.eye(9, dtype=torch.float64)[j]
        above, below = (negative_log_evidence(at + sign * shift, pairs, y)[0] for sign in (1, -1))
        torch.testing.assert_close(gradient[:, j], (above - below) / (2 * step), rtol=1e-5, atol=1e-5)


def test_the_expected_kernel_is_the_same_with_and_without_a_gradient():
    generator = torch.Generator().manual_seed(4)
    x = torch.rand(2, 6, 4, generator=generator, dtype=torch.float64)  # two means, two variances
    theta = torch.randn(2, 2, generator=generator, dtype=torch.float64)
    kernel = ExpectedSquaredExponential()
    with torch.no_grad():
        plain = cross(kernel, theta, x, x)
    torch.testing.assert_close(plain, cross(kernel, theta, x, x))


# --- descriptors -----------------------------------------------------------------------------------------------------


def described():
    numbers = {"a": {"n": 0, "m": 1}, "b": {"n": 1, "m": 0}, "c": {"n": 5, "m": 2}}
    return Space({"s": Categorical(list("abc"), descriptors=numbers), "x": (0, 1), "t": ["u", "v"]})


def test_described_categories_have_the_distances_of_their_descriptors():
    space = described()
    kernel, theta = AdditiveMatern.over(space), torch.tensor([[0.3, 0.4, -1, -0.5, -0.2, -0.3, 0.2, 0.1]]).double()
    rows = [{"s": s, "x": x, "t": t} for s, x, t in [("a", 0.1, "u"), ("b", 0.3, "u"), ("c", 0.7, "v")]]
    X = torch.from_numpy(space.places(rows))[None]
    D = space.parameters["s"].descriptors.distances
    by_hand = torch.empty(3, 3, dtype=torch.float64)
    for i, j in itertools.product(range(3), range(3)):
        apart = [D["abc".index(rows[i]["s"])]["abc".index(rows[j]["s"])]]
        apart += [abs(rows[i]["x"] - rows[j]["x"]), float(rows[i]["t"] != rows[j]["t"])]
        r = torch.tensor(apart, dtype=torch.float64)
        alone, together = theta[0, 2:5].exp(), theta[0, 5:].exp()
        weight = torch.sigmoid(theta[0, 1])
        joint = _matern((r / together).norm())
        by_hand[i, j] = theta[0, 0].exp() * (weight * _matern(r / alone).mean() + (1 - weight) * joint)
    with torch.no_grad():
        torch.testing.assert_close(cross(kernel, theta, X, X.clone())[0], by_hand)
    codes = to_codes(Table.of(space, [], torch.zeros(0)), X)  # the sampler's way to the same numbers
    metric = AdditiveCandidates(theta, torch.tensor([True, False, True]), space.described)
    for i, j in itertools.product(range(3), range(3)):
        found = metric.covariances(codes, codes[:, [i]], torch.tensor([[0, 2]]), codes[:, j, [0, 2]][:, None, None])[
            :, 0
        ]
        moved = {"s": rows[j]["s"], "x": rows[i]["x"], "t": rows[j]["t"]}
        with torch.no_grad():
            expected = cross(kernel, theta, torch.from_numpy(space.places([moved]))[None], X)
        torch.testing.assert_close(found, expected)


def test_covariances_from_what_rows_have_in_common_as_they_are():
    """The same as from the other parameters alone; one candidate is the row itself, at distance 0."""
    generator = torch.Generator().manual_seed(1)
    theta = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    codes, values = torch.rand(2, 2, 6, 3, generator=generator, dtype=torch.float64)
    codes[..., 0] = torch.randint(3, (2, 6), generator=generator).double()
    values[..., 0] = torch.randint(3, (2, 6), generator=generator).double()
    for words in ((), described().described):
        metric = AdditiveCandidates(theta, torch.tensor([True, False, False]), words)
        whole = metric.whole(codes, codes[:, :4])
        for slots in ([0], [1], [0, 2], [1, 2]):
            which = torch.tensor([slots] * 4)
            tried = torch.stack([values[:, :4, slots], codes[:, :4, slots]], 2)  # (Q, B, S, g)
            found = metric.changed(codes, codes[:, :4], whole, which, tried)
            expected = metric.covariances(codes, codes[:, :4], which, tried)
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def _matern(r):
    return (1 + math.sqrt(5) * r + 5 / 3 * r**2) * torch.exp(-math.sqrt(5) * r)


@pytest.mark.parametrize("rows", [0, 7])
def test_strips_give_what_the_whole_gives(monkeypatch, rows):
    generator = torch.Generator().manual_seed(2)
    theta = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    x, others = torch.rand(2, 2, 7, 4, generator=generator, dtype=torch.float64)[:, :, :rows].requires_grad_()
    weights = torch.rand(2, rows, rows, generator=generator, dtype=torch.float64)

    def everything():
        slopes = torch.autograd.grad((cross(KERNEL, theta, x, others) * weights).sum(), (x, others))
        pairs = Pairs(KERNEL, x.detach())
        covariance, pullback = KERNEL.with_pullback(theta, pairs.prepared)
        return *slopes, covariance, pullback(pairs.twice + covariance), KERNEL.evaluate(theta, pairs.prepared)

    whole = everything()
    monkeypatch.setattr(kernels, "STRIP", 120)
    monkeypatch.setattr(additive, "CACHED", 40)
    torch.testing.assert_close(everything(), whole, rtol=1e-12, atol=1e-12)


def test_gradients_along_described_columns():
    kernel, theta = (
        AdditiveMatern.over(described()),
        torch.tensor([[0.3, 0.4, -1, -0.5, -0.2, -0.3, 0.2, 0.1]]).double(),
    )
    generator = torch.Generator().manual_seed(0)
    one, other = torch.rand(2, 1, 3, 6, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: cross(kernel, theta, x, other), one.requires_grad_())
