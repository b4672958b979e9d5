"""What the worlds expect, by hand."""

import math
from dataclasses import replace

import pytest
import torch

from bomi.model.additive import AdditiveMatern
from bomi.model.gaussian_process import with_hyper
from bomi.model.kernels import SquaredExponential
from bomi.model.success import learn_success
from bomi.search import acquisition
from bomi.search.criteria import ExpectedImprovement, UpperConfidenceBound
from bomi.search.outlook import Outlook

POINTS = torch.tensor([[0.1], [0.45], [0.8]], dtype=torch.float64)


def model_of(worlds=2, seed=0, *, offset=0.0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(worlds, 6, 1, generator=generator, dtype=torch.float64)
    y = torch.randn(6, generator=generator, dtype=torch.float64) + offset
    hyper = torch.tensor([[0.2, math.log(0.3), math.log(0.05)]], dtype=torch.float64).repeat(worlds, 1)
    return with_hyper(X, y, hyper, kernel=SquaredExponential())


def outlook_of(aims=(None,), *, failed=False):
    models = [model_of(seed=j) for j in range(len(aims))]
    rows, success = models[0].inputs, None
    if failed:
        success = learn_success(rows, torch.tensor([False, False, False, False, True, True]), AdditiveMatern((0,)))
    return Outlook.of(models, aims, rows, success)


@pytest.mark.parametrize("aims", [(None,), (0.3,), (None, 0.3)])
def test_what_was_tried_is_told_by_its_expected_merit(aims):
    outlook = outlook_of(aims)
    for j, (model, aim) in enumerate(zip(outlook.models, aims, strict=True)):
        mean = model.moments(outlook.models[0].inputs)[0]
        expected = mean if aim is None else -(mean - aim).abs()
        torch.testing.assert_close(outlook.tried[..., j], expected)


@pytest.mark.parametrize("aims", [(None,), (0.3,), (None, 0.3)])
def test_points_conditioned_on_are_tried_with_what_each_world_expects_of_them(aims):
    outlook = outlook_of(aims)
    after = outlook.condition_on(POINTS)
    assert after.tried.shape == (2, 9, len(aims))
    assert torch.equal(after.tried[:, :6], outlook.tried)
    for j, (model, aim) in enumerate(zip(outlook.models, aims, strict=True)):
        mean, variance = model.moments(POINTS)
        torch.testing.assert_close(after.tried[:, 6:, j], acquisition.merit(mean, aim))
        mean_after, variance_after = after.models[j].moments(POINTS)
        torch.testing.assert_close(mean_after, mean)
        assert (variance_after < 0.1 * variance.clamp_min(0.5)).all()


def test_merits_are_those_of_the_mixture_of_the_worlds():
    """The mean over worlds, and for an aim the expected distance with the total variance, by a sum over draws."""
    outlook = outlook_of((None, 0.3))
    found = outlook.merits(POINTS)
    (mean, _), (other, other_sd) = outlook.moments(outlook.places(POINTS))
    torch.testing.assert_close(found[:, 0], mean.mean(0))
    total = (other_sd.square().mean(0) + (other - other.mean(0)).square().mean(0)).sqrt()
    z = torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    distance = (other.mean(0) + total * z - 0.3).abs().mean(0)
    torch.testing.assert_close(found[:, 1], -distance, atol=0.01, rtol=0)


def test_a_point_that_may_fail_is_worth_its_chance_and_an_unlikely_one_comes_last():
    outlook = outlook_of(failed=True)
    chance = outlook.success.log_chance(POINTS).exp().mean(0)
    score = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    expected = chance * score - (1 - chance) * 5 + 1000 * (chance - 0.7).clamp_max(0)
    torch.testing.assert_close(outlook.weigh(score, outlook.places(POINTS), -5.0), expected)
    certain = outlook_of()
    assert certain.weigh(score, certain.places(POINTS), -5.0) is score
    worst = outlook.tried[..., 0].min()
    torch.testing.assert_close(
        outlook.merits(POINTS)[:, 0],
        outlook.weigh(outlook.moments(outlook.places(POINTS))[0][0].mean(0), outlook.places(POINTS), worst),
    )


def test_acquisitions_know_the_chance_to_succeed():
    outlook = outlook_of(failed=True)
    ((mean, sd),) = outlook.moments(outlook.places(POINTS))
    log_chance = outlook.success.log_chance(POINTS)
    penalty = acquisition.infeasibility_penalty(log_chance.exp().mean(0))
    _, own, others = outlook.models[0].lessons(outlook.rows)(POINTS)
    gain = acquisition.log_rise(mean, own, outlook.tried[..., 0], others)
    expected = torch.logsumexp(gain + log_chance, 0) - math.log(2) + penalty
    torch.testing.assert_close(ExpectedImprovement().score(outlook, t=1, parameters=1)(POINTS), expected)
    bound = UpperConfidenceBound(beta_alpha=0.0)
    exploration = 0.2 * math.sqrt(acquisition.beta(3, 1))
    expected = outlook.weigh((mean + exploration * sd).mean(0), outlook.places(POINTS), outlook.tried.min())
    torch.testing.assert_close(bound.score(outlook, t=3, parameters=1)(POINTS), expected)


def test_without_noise_what_is_scored_is_expected_improvement():
    rows = torch.tensor([[[0.1], [0.4], [0.6], [0.95]]], dtype=torch.float64)
    targets = torch.tensor([0.3, 1.0, 0.9, -0.5], dtype=torch.float64)
    hyper = torch.tensor([[0.2, math.log(0.15), -25.0]], dtype=torch.float64)
    outlook = Outlook.of([with_hyper(rows, targets, hyper, kernel=SquaredExponential())], (None,), rows, None)
    points = torch.linspace(0, 1, 41, dtype=torch.float64)[:, None] + 0.0071
    ((mean, sd),) = outlook.moments(outlook.places(points))
    gain = acquisition.log_excess(mean, sd, torch.ones(1, 1, dtype=torch.float64))
    found = ExpectedImprovement().score(outlook, t=1, parameters=1)(points)
    likely = gain[0] > -20
    assert likely.sum() > 25
    torch.testing.assert_close(found[likely], gain[0, likely], atol=2e-3, rtol=0)


def test_what_is_scored_is_the_rise_of_the_best_mean_once_the_outcome_is_known():
    """Learned anew with two outcomes, which tells the line on which each mean moves; and averaged over all outcomes."""
    outlook = outlook_of()
    (model,) = outlook.models
    mean, variance = model.moments(POINTS)
    z = torch.special.ndtri((torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000)
    gains = torch.zeros_like(mean)
    for m, place in enumerate(POINTS):
        for q in range(2):
            outcomes = mean[q, m] + (variance[q, m] + 0.05).sqrt() * torch.tensor([0.0, 1.0], dtype=torch.float64)
            rows = torch.cat([model.inputs[q], place[None]]).expand(2, -1, -1)
            targets = torch.cat([model.targets[q].expand(2, -1), outcomes[:, None]], 1)
            after = with_hyper(rows, targets, model.hyper[[q]].repeat(2, 1), kernel=SquaredExponential()).fitted()
            best = (after[0, :, None] + (after[1] - after[0])[:, None] * z).amax(0)
            gains[q, m] = best.mean() - outlook.tried[q, :, 0].amax()
    found = ExpectedImprovement().score(outlook, t=1, parameters=1)(POINTS)
    torch.testing.assert_close(found, gains.mean(0).log(), atol=1e-3, rtol=0)


def test_noise_makes_a_row_worth_repeating_but_not_where_it_is_known_best():
    """Where nothing is left to learn of the best row, only what is not known is worth asking for."""
    rows = torch.tensor([[[0.2], [0.8]]], dtype=torch.float64)
    hyper = torch.tensor([[0.0, math.log(0.1), math.log(0.5)]], dtype=torch.float64)

    def score(times):
        inputs = torch.cat([rows] + [rows[:, :1]] * times, 1)
        targets = torch.tensor([1.0, 0.95, *[1.0] * times], dtype=torch.float64)
        model = with_hyper(inputs, targets, hyper, kernel=SquaredExponential())
        outlook = Outlook.of([model], (None,), inputs, None)
        return ExpectedImprovement().score(outlook, t=1, parameters=1)(rows[0]).tolist()

    best, other = score(0)
    assert abs(best - other) < 0.2  # two that can hardly be told apart
    best, other = score(40)
    assert other > best + 3


def test_each_world_alone_is_what_it_is_among_the_others():
    outlook = outlook_of((None, 0.3), failed=True)
    together = outlook.moments(outlook.places(POINTS))
    for q, world in enumerate(outlook.worlds()):
        assert torch.equal(world.tried, outlook.tried[q : q + 1])
        for (mean, sd), (means, sds) in zip(world.moments(world.places(POINTS)), together, strict=True):
            torch.testing.assert_close(mean[0], means[q])
            torch.testing.assert_close(sd[0], sds[q])
        torch.testing.assert_close(world.success.log_chance(POINTS)[0], outlook.success.log_chance(POINTS)[q])


class Overshoots:
    """Every second request ends 0.1 higher in one world, 0.2 in the other."""

    def branches(self, points):
        shifts = torch.tensor([[0.0, 0.1], [0.0, 0.2]], dtype=torch.float64)[..., None, None]
        return torch.full((2, 2, len(points)), 0.5, dtype=torch.float64), points + shifts


def test_the_improvement_of_a_request_is_that_of_the_average_outcome_over_what_is_done():
    outlook = outlook_of()
    straying = replace(outlook, execution=Overshoots())
    found = ExpectedImprovement().score(straying, t=1, parameters=1)(POINTS)
    taught = outlook.models[0].lessons(outlook.rows)
    lessons = [taught(at) for at in (POINTS, torch.stack([POINTS + 0.1, POINTS + 0.2]))]
    mean, own, others = ((one + other) / 2 for one, other in zip(*lessons, strict=True))
    gain = acquisition.log_rise(mean, own, outlook.tried[..., 0], others)
    torch.testing.assert_close(found, torch.logsumexp(gain, 0) - math.log(2))


def test_what_is_done_misses_an_aim():
    """Of two requests that meet it on average, the one that is done exactly is better."""
    outlook = outlook_of((0.3,))
    straying = replace(outlook, execution=Overshoots())
    ((mean, sd),) = straying.asked_moments(straying.places(POINTS))
    each = [outlook.models[0].moments(at) for at in (POINTS, torch.stack([POINTS + 0.1, POINTS + 0.2]))]
    (low, low_variance), (high, high_variance) = each
    torch.testing.assert_close(mean, (low + high) / 2)
    size = (low_variance.sqrt() + high_variance.sqrt()) / 2
    torch.testing.assert_close(sd.square(), size.square() + ((high - low) / 2).square())


def test_an_improvement_is_one_over_the_average_outcome_of_the_best_request():
    outlook = outlook_of()
    asked = outlook.asking(Overshoots(), POINTS)
    here, there = (outlook.models[0].moments(at)[0] for at in (POINTS, torch.stack([POINTS + 0.1, POINTS + 0.2])))
    torch.testing.assert_close(asked.tried[..., 0], (here + there) / 2)


def test_what_is_expected_of_a_request_is_a_mixture_over_worlds_and_what_is_done():
    outlook = outlook_of()
    straying = replace(outlook, execution=Overshoots())
    (found,) = straying.expected(straying.places(POINTS))
    places = [torch.stack([POINTS, POINTS]), torch.stack([POINTS + 0.1, POINTS + 0.2])]
    moments = [outlook.models[0].moments(place) for place in places]
    means, variances = (torch.stack(part, 1) for part in zip(*moments, strict=True))  # (Q, B, m)
    torch.testing.assert_close(found.mean, means.mean((0, 1)))
    torch.testing.assert_close(found.variance, variances.mean((0, 1)) + means.flatten(0, 1).var(0, correction=0))
    torch.testing.assert_close(found.execution, means.var(1, correction=0).mean(0))


def test_the_worst_tenth_of_what_may_come_out_is_that_of_draws():
    outlook = replace(outlook_of(), execution=Overshoots())
    places = outlook.places(POINTS)
    mean, sd = (places.split(part)[1].flatten(0, 1) for part in outlook.moments(places)[0])  # (Q B, m)
    draws = mean + sd * torch.randn(50_000, *mean.shape, generator=torch.Generator().manual_seed(0), dtype=mean.dtype)
    worst = draws.flatten(0, 1).sort(0).values[:20_000].mean(0)
    torch.testing.assert_close(outlook.merits(POINTS, 0.1)[:, 0], worst, atol=0.08, rtol=0)
    torch.testing.assert_close(outlook.merits(POINTS, 1.0), outlook.merits(POINTS), atol=1e-6, rtol=0)


class MostlyOvershoots(Overshoots):
    """The same, two times of three; what is not known of a request stays unknown."""

    def branches(self, points):
        weights, places = super().branches(points)
        return torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)[:, None].expand_as(weights), places


def test_points_conditioned_on_are_taken_for_what_is_likeliest_done():
    outlook = outlook_of()
    after = replace(outlook, execution=MostlyOvershoots()).condition_on(POINTS)
    done = torch.stack([POINTS + 0.1, POINTS + 0.2])
    assert torch.equal(after.models[0].inputs[:, 6:], done)
    mean = outlook.models[0].moments(done)[0]
    exact = outlook.models[0].moments(POINTS)[0]
    torch.testing.assert_close(after.tried[:, 6:, 0], exact / 3 + mean * 2 / 3)


def test_what_is_measured_later_and_what_is_done_are_averaged_over_together():
    """Every draw of what nobody knows with every place that may be done, in every world: by one place at a time."""
    plain = outlook_of()
    draws = torch.tensor([[0.2], [0.7], [0.9]], dtype=torch.float64)
    outlook = replace(plain, execution=MostlyOvershoots(), draws=draws, tried=plain.tried.repeat_interleave(3, 0))
    unknown = torch.full((1, 1), torch.nan, dtype=torch.float64)
    places = outlook.places(unknown)
    assert places.inputs.shape == (2, 3, 2, 1, 1)
    mean, variance = plain.models[0].moments(draws)  # (Q, D)
    gain = acquisition.log_excess(mean, variance.sqrt(), plain.tried[..., 0].amax(-1, keepdim=True))
    found = ExpectedImprovement().score(outlook, t=1, parameters=1)(unknown)
    torch.testing.assert_close(found.exp()[0], gain.exp().mean())


@pytest.mark.parametrize("criterion", [ExpectedImprovement(), UpperConfidenceBound()])
def test_where_all_is_done_as_asked_nothing_changes(criterion):
    class AsAsked:
        def branches(self, points):
            return torch.ones(2, 1, len(points), dtype=torch.float64), points.expand(2, 1, -1, -1)

    outlook = outlook_of(failed=True)
    same = replace(outlook, execution=AsAsked())
    one, other = (criterion.score(each, t=2, parameters=1)(POINTS) for each in (outlook, same))
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(outlook.merits(POINTS), same.merits(POINTS))
