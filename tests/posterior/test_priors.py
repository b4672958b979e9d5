"""What is known of a gap before its outcome is looked at: execution errors, categories, anchors, fixed sums."""

import dataclasses
import math

import pytest
import torch

from bomi import Linear
from bomi.data.observations import Row
from bomi.impute.completed import Explained
from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.gaussian_process import with_hyper
from bomi.posterior import anchors, execution
from bomi.posterior.codes import to_codes
from bomi.posterior.constrained import Constrained, _log_density
from bomi.posterior.priors import gap_priors
from bomi.space import Integer, Space
from bomi.space.cells import Normal

NAN = math.nan
FINE = torch.linspace(0, 1, 20_001, dtype=torch.float64)


# --- execution errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [0.5, 0.03, 1.0])
def test_the_distribution_of_every_execution_error_is_the_integral_of_its_density(asked):
    at = torch.tensor([asked], dtype=torch.float64)
    heights = execution.density(FINE[:, None], at)[:, 0]  # (N, K)
    total = torch.cat([torch.zeros(1, heights.shape[1]), torch.cumulative_trapezoid(heights, FINE, dim=0)])
    cdf = execution.distribution(FINE[None], at)[0].T
    torch.testing.assert_close(cdf[:, :-1], total[:, :-1], atol=2e-3, rtol=0)
    torch.testing.assert_close(cdf[:, -1], FINE)  # the last is anywhere
    torch.testing.assert_close(cdf[-1], torch.ones_like(cdf[-1]), atol=1e-6, rtol=0)


def test_execution_errors_go_either_way_from_very_near_to_a_third_of_the_range():
    centers = torch.tensor(execution.CENTERS)
    assert sorted(centers.tolist()) == sorted((-centers).tolist())
    assert centers[0] == 0
    assert (centers.abs().max(), centers.abs()[1:].min()) == (pytest.approx(0.32), pytest.approx(0.0125))
    heights = execution.density(torch.tensor([0.5]) + centers[:, None].double(), torch.tensor([0.5]).double())[:, 0]
    assert heights[:, :-1].argmax(-1).tolist() == list(range(len(centers)))  # each is the densest at its center


def test_nodes_lie_close_around_an_asked_value():
    nodes = execution.nodes_around(torch.tensor([0.4, 0.0], dtype=torch.float64))
    assert (nodes.diff() >= 0).all()
    assert (nodes.amin(-1), nodes.amax(-1)) == (pytest.approx([0, 0]), pytest.approx([1, 1]))
    near = (nodes[0] - 0.4).abs() < 0.04
    assert near.double().mean() > 0.25
    assert nodes[0][near].diff().max() < 0.003


def test_recorded_values_that_differ_from_the_asked_ones_are_counted_by_what_they_look_like():
    asked = torch.tensor([[0.5, 0.5], [0.5, 0.5], [0.5, NAN], [NAN, 0.5]], dtype=torch.float64)
    codes = torch.tensor([[0.6, 0.5], [0.5, 0.5], [0.62, 0.9], [0.5, NAN]], dtype=torch.float64)
    counts = execution.recorded_counts(codes, asked)
    assert counts.sum(-1).tolist() == pytest.approx([2, 0])
    likely = torch.tensor(execution.CENTERS)[counts[0, :-1].topk(2).indices].tolist()
    assert sorted(likely) == pytest.approx([0.08, 0.125])


def test_what_other_parameters_do_is_a_hint_and_what_this_one_does_is_evidence():
    counts = torch.zeros(2, execution.COMPONENTS, dtype=torch.float64)
    counts[0, 3] = 10.0
    found, K = execution.dirichlet(counts), execution.COMPONENTS
    share = (10 + 1 / K) / 11
    assert float(found[0, 3]) == pytest.approx(10 + 1 / K + 2 * share)
    assert float(found[1, 3]) == pytest.approx(1 / K + 2 * share)
    assert float(found[1, 0]) == pytest.approx(1 / K + 2 / K / 11)


def asked_table(count, *, asked=0.5):
    inputs = torch.full((count, 1), NAN, dtype=torch.float64)
    return Table(Space({"x": (0, 1)}), inputs, torch.full_like(inputs, asked), torch.zeros(count, dtype=torch.float64))


def test_weights_of_execution_errors_are_drawn_given_the_values():
    """All were missed by 0.2. A label falls to k with probability w_k ~ pi_k density_k, so on average the weight of
    k is (n w_k + 1/K) / (n + 1)."""
    count, worlds, K = 30, 400, execution.COMPONENTS
    table = asked_table(count)
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    tilted = torch.arange(1.0, K + 1, dtype=torch.float64).expand(worlds, 1, K)
    priors = priors._with_pi(tilted)
    x = torch.full((worlds, count, 1), 0.7, dtype=torch.float64)
    found = priors.learn_execution(x, torch.Generator().manual_seed(0))
    heights = execution.density(torch.tensor([0.7]).double(), torch.tensor([0.5]).double())[0]
    w = heights * tilted[0, 0] / (heights * tilted[0, 0]).sum()
    torch.testing.assert_close(found.pi[:, 0].mean(0), (count * w + 1 / K) / (count + 1), atol=0.02, rtol=0)
    torch.testing.assert_close(found.pi.sum(-1), torch.ones(worlds, 1, dtype=torch.float64))
    drawn = found.draw(torch.zeros(worlds, 1, count, 1, dtype=torch.float64))
    assert drawn.median() == pytest.approx(0.7, abs=0.05)


def test_weights_of_certain_labels_are_spread_as_a_dirichlet_distribution():
    count, worlds, K = 10, 4000, execution.COMPONENTS
    table = asked_table(count)
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    priors = priors._with_pi(torch.eye(K, dtype=torch.float64)[0].expand(worlds, 1, K))
    found = priors.learn_execution(torch.full((worlds, count, 1), 0.5).double(), torch.Generator().manual_seed(0))
    mean = (count + 1 / K) / (count + 1)
    assert found.pi[:, 0, 0].mean() == pytest.approx(mean, abs=0.005)
    assert found.pi[:, 0, 0].std() == pytest.approx(math.sqrt(mean * (1 - mean) / (count + 4)), rel=0.05)


def test_weights_are_learned_from_the_rows_that_are_named():
    table = asked_table(40)
    priors = gap_priors(table, to_codes(table, table.inputs), 50)
    x = torch.full((50, 40, 1), 0.7, dtype=torch.float64)
    x[:, 20:] = 0.3
    up = torch.tensor([center > 0 for center in (*execution.CENTERS, 0.0)])
    found = priors.learn_execution(x, torch.Generator().manual_seed(0), torch.arange(40) < 20)
    assert found.pi[:, 0, up].sum(-1).mean() > 0.8
    none = torch.zeros(40, dtype=torch.bool)
    assert priors.learn_execution(x, torch.Generator().manual_seed(0), none) is priors


# --- categories, levels and stated cells ------------------------------------------------------------------------------

MIXED = Space({"a": (0, 1), "n": Integer(0, 4), "q": ["x", "y", "z"]})


def mixed_priors(worlds=1):
    rows = [Row({"a": 0.1 * i, "n": i % 5, "q": "x" if i % 4 else "y"}, {"y": 0.0}) for i in range(8)]
    rows += [
        Row({"a": 0.5, "n": None, "q": None}, {"y": 0.0}),
        Row({"a": 0.5, "n": 2, "q": None}, {"y": 0.0}, {"q": "z"}),
        Row({"a": Normal(0.3, 0.05), "n": None, "q": "x"}, {"y": 0.0}, {"a": 0.9}),
    ]
    table = Table.of(MIXED, rows, torch.zeros(len(rows), dtype=torch.float64))
    return table, gap_priors(table, to_codes(table, table.inputs), worlds)


def test_slots_know_their_parameters_and_which_of_them_take_discrete_values():
    _, priors = mixed_priors()
    assert priors.rows.tolist() == [8, 9, 10]
    assert [priors.parameter[r][priors.used[r]].tolist() for r in range(3)] == [[1, 2], [2], [0, 1]]
    assert [priors.discrete[r][priors.used[r]].tolist() for r in range(3)] == [[True, True], [True], [False, True]]
    assert priors.asked.isnan().all()  # a category strays by its table, and what was stated overrules what was asked


def test_an_asked_category_has_nine_tenths_and_its_share_of_the_rest():
    _, priors = mixed_priors()
    e = torch.randn(1, 20_000, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = priors.draw(e)[0].round()
    free = drawn[:, 0, 1].long().bincount(minlength=3) / 20_000
    asked = drawn[:, 1, 0].long().bincount(minlength=3) / 20_000
    expected = 0.1 * free + torch.tensor([0.0, 0.0, 0.9])
    assert asked.tolist() == pytest.approx(expected.tolist(), abs=0.01)
    assert free[0] > free[1] > free[2]  # as often as they were recorded
    stated = priors.draw(e)[0, :, 2, 0]
    assert (stated.mean(), stated.std()) == (pytest.approx(0.3, abs=0.002), pytest.approx(0.05, rel=0.03))


def test_values_and_normal_numbers_map_to_each_other_where_gaps_go_together():
    """z = C e, both ways."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    inputs[:3] = NAN
    table = Table(Space({"a": (0, 1), "b": (0, 1)}), inputs, torch.full_like(inputs, NAN), inputs[:, 0].nan_to_num())
    priors = gap_priors(table, to_codes(table, inputs), 2)
    even = torch.linspace(0, 1, priors.nodes.shape[-1], dtype=torch.float64).repeat(3, 2, 1)
    plain = dataclasses.replace(
        priors, nodes=even, cdf=even.expand_as(priors.cdf).contiguous(), root=torch.eye(2).double().repeat(3, 1, 1)
    )
    root = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64).repeat(3, 1, 1)
    priors = dataclasses.replace(plain, root=root)
    e = 0.5 * torch.randn(2, 1, 3, 2, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(priors.locate(priors.draw(e)[:, 0], generator), e[:, 0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(priors.draw(e), plain.draw((root @ e.unsqueeze(-1)).squeeze(-1)))


def test_a_value_with_a_probability_of_its_own_is_reached_from_all_its_normal_numbers():
    """Of what is drawn, 30 % is 0, 20 % is 1 and 10 % is 0.5. The normal numbers found for it are normal again."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.full((1, 1), NAN, dtype=torch.float64)
    table = Table(Space({"a": (0, 1)}), inputs, inputs, torch.zeros(1).double())
    priors = gap_priors(table, to_codes(table, inputs), 4000)
    nodes = torch.linspace(0, 1, 256, dtype=torch.float64)
    nodes[127:129] = 0.5
    cdf = 0.3 + 0.4 * nodes + 0.1 * (torch.arange(256) > 127)
    priors = dataclasses.replace(priors, nodes=nodes.expand(1, 1, -1), cdf=cdf.repeat(4000, 1, 1, 1))
    x = priors.draw(torch.randn(4000, 1, 1, 1, generator=generator, dtype=torch.float64))[:, 0]
    found = priors.locate(x, generator)
    torch.testing.assert_close(priors.draw(found[:, None])[:, 0], x)
    level = torch.special.ndtr(found.flatten()).sort().values
    assert float((level - torch.linspace(0, 1, 4000, dtype=torch.float64)).abs().max()) < 0.03


def test_the_priors_of_some_rows_are_those_of_the_rows():
    _, priors = mixed_priors(2)
    some = torch.zeros(11, dtype=torch.bool)
    some[[8, 10]] = True
    part = priors.select(some)
    assert part.rows.tolist() == [8, 10]
    e = torch.randn(2, 5, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(part.draw(e[:, :, [0, 2]]), priors.draw(e)[:, :, [0, 2]])


# --- large tables -----------------------------------------------------------------------------------------------------


def test_anchors_are_complete_rows_first_and_among_them_the_best_half(monkeypatch):
    monkeypatch.setattr("bomi.impute.table.LARGE", 20)
    inputs = torch.rand(100, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    inputs[::2] = NAN  # 50 complete rows
    table = Table(Space({"x": (0, 1)}), inputs, torch.full_like(inputs, NAN), torch.arange(100.0).double())
    chosen = anchors.choose_anchors(table, torch.Generator().manual_seed(0))
    assert int(chosen.sum()) == 20
    assert not table.gaps[chosen].any()
    assert chosen[50:].sum() > 12  # ten of the best of forty, and others at random
    few = dataclasses.replace(table, inputs=torch.where(torch.arange(100)[:, None] < 90, NAN, inputs))
    chosen = anchors.choose_anchors(few, torch.Generator().manual_seed(0))
    assert int(chosen.sum()) == 20
    assert chosen[91::2].all()  # the five complete ones are among them


@pytest.mark.parametrize(("error", "again"), [(None, False), (0.5, False), (None, True)])
def test_a_row_drawn_given_anchors_follows_its_exact_posterior(error, again):
    """Two anchors, so that the variance differs much from place to place."""
    space, worlds = Space({"x": (0, 1)}), 4000
    known = torch.tensor([[0.05], [0.35]], dtype=torch.float64)
    targets = torch.tensor([0.6, -0.4, 0.5], dtype=torch.float64)
    inputs = torch.cat([known, torch.tensor([[NAN]], dtype=torch.float64)])
    errors = None if error is None else torch.tensor([0.0, 0.0, error], dtype=torch.float64)
    hyper = torch.tensor([[0.0, 0.0, math.log(0.25), math.log(0.3), -3.0]], dtype=torch.float64)
    table = Table(space, inputs, torch.full_like(inputs, NAN), targets, errors=errors)
    priors = gap_priors(table, to_codes(table, inputs), 1)
    worlds_of = Explained(known.expand(worlds, -1, -1), targets[:2], hyper=hyper.repeat(worlds, 1))
    rows = torch.tensor([False, False, True])
    before = inputs.nan_to_num(nan=0.9).expand(worlds, -1, -1) if again else None
    drawn = anchors.draw_given(worlds_of, table, rows, torch.Generator().manual_seed(0), before=before).flatten()
    level = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000
    grid = priors.draw(torch.special.ndtri(level)[None, :, None, None]).flatten()  # even under the prior
    model = with_hyper(known[None], targets[:2], hyper, kernel=AdditiveMatern((0,)))
    mean, variance = (part[0] for part in model.moments(grid[:, None]))
    variance = variance + math.exp(-3.0) + (error or 0.0)
    weights = (torch.exp(-0.5 * (0.5 - mean).square() / variance) / variance.sqrt()).double()
    weights = weights / weights.sum()
    for at in (0.1, 0.2, 0.4, 0.6, 0.8):
        assert (drawn <= at).double().mean() == pytest.approx(float(weights[grid <= at].sum()), abs=0.035)


# --- fixed sums -------------------------------------------------------------------------------------------------------


def test_a_candidate_of_a_fixed_sum_is_weighed_by_the_density_of_the_gap_that_follows():
    """Of two gaps, one asked for, the other follows; its own prior, a bell around what was stated, is its weight."""
    space = Space(dict.fromkeys("abc", (0, 1)), constraints=[Linear(dict.fromkeys("abc", 1), equals=1)])
    rows = [Row({"a": 0.4, "b": None, "c": Normal(0.35, 0.05)}, {"y": 0.0}, {"b": 0.3})]
    table = Table.of(space, rows, torch.zeros(1, dtype=torch.float64))
    priors = gap_priors(table, to_codes(table, table.inputs), 1)
    constrained = Constrained(table, priors)
    assert constrained.rows[0].pivots == [(0, 1)]  # the one that was not asked for
    b = torch.tensor([0.1, 0.25, 0.3, 0.7], dtype=torch.float64)
    candidates = torch.stack([b, torch.full_like(b, 0.9)], -1)[None, :, None]
    values, weight = constrained.follow(candidates, priors)
    assert values[0, :3, 0, 1].tolist() == pytest.approx([0.5, 0.35, 0.3])
    bell = torch.distributions.Normal(0.35, 0.05).log_prob(torch.tensor([0.5, 0.35, 0.3]))
    assert (weight[0, :3, 0] - weight[0, 1, 0]).tolist() == pytest.approx((bell - bell[1]).tolist(), abs=0.15)
    assert weight[0, 3, 0] == -torch.inf  # less than nothing would be left


def test_the_density_of_a_gap_is_the_slope_of_its_distribution():
    table = asked_table(1)
    priors = gap_priors(table, to_codes(table, table.inputs), 1)
    x = torch.tensor([[0.31, 0.47, 0.52, 0.9]], dtype=torch.float64)
    found = _log_density(priors, 0, 0, x).exp()
    heights = (execution.density(x, torch.tensor([0.5]).double()) * priors.pi[0, 0]).sum(-1)
    torch.testing.assert_close(found, heights, atol=0.05, rtol=0.1)
