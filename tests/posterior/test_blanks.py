"""What a blank means: its default or any value, with a weight that is learned."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import beta

import bomi
from bomi.impute.summary import meanings
from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.kernels import cross
from bomi.posterior import sampler
from bomi.posterior.blanks import HARDLY, MOSTLY, Blanks, default_place
from bomi.posterior.codes import to_codes
from bomi.posterior.priors import gap_priors
from bomi.space import Categorical, Integer, Real, Space

NAN = math.nan
KNOWN = (0.1, 0.35, 0.8)
Y = (0.9, 0.2, -0.5, 1.1, -0.6)
NOISE = -3.0
ROOM = torch.tensor([[1.0], [0.4]], dtype=torch.float64)  # the other columns speak against the second


def table_of(known=KNOWN, outcomes=Y, parameter=None):
    inputs = torch.tensor([*known, *[NAN] * (len(outcomes) - len(known))], dtype=torch.float64)[:, None]
    return Table(
        Space({"x": parameter or Real(0, 1, blank="maybe")}),
        inputs,
        torch.full_like(inputs, torch.nan),
        torch.tensor([outcomes], dtype=torch.float64),
    )


def hyper_of(worlds):
    row = torch.tensor([[0.0, 0.0, math.log(0.25), math.log(0.3), NOISE]], dtype=torch.float64)
    return row.expand(worlds, -1)


def uniform_priors(table, worlds):
    """Priors that are even over the range but for the atom."""
    priors = gap_priors(table, to_codes(table, table.inputs), worlds)
    nodes = torch.linspace(0, 1, priors.nodes.shape[-1], dtype=torch.float64).expand_as(priors.nodes)
    cdf = nodes.expand(worlds, -1, -1, -1).contiguous()
    blanks = dataclasses.replace(priors.blanks, own=torch.zeros_like(priors.blanks.own), room=ROOM)
    return dataclasses.replace(priors, nodes=nodes, cdf=cdf, blanks=blanks)


def log_density(table, gaps, targets=None):
    """log p(outcomes | inputs) by the dense normal density.  (M, G) -> (M,)"""
    inputs = table.inputs.expand(len(gaps), -1, -1).clone()
    inputs[:, table.gaps[:, 0], 0] = gaps
    theta = hyper_of(1)[:, :-1].expand(len(gaps), -1)
    K = cross(AdditiveMatern((0,)), theta, inputs, inputs) + math.exp(NOISE) * torch.eye(len(table)).double()
    normal = torch.distributions.MultivariateNormal(torch.zeros(len(table)).double(), K)
    return normal.log_prob(table.outcomes[0]) if targets is None else normal


def prior_of(chosen):
    """log P(which gaps are at their default), the weight integrated out on a grid, and E[w | these]."""
    w = np.linspace(0.00005, 0.99995, 10000)
    density = 0.5 * (beta.pdf(w, *MOSTLY) + beta.pdf(w, *HARDLY)) / len(w)
    for at, room in zip(chosen, ROOM[:, 0].tolist(), strict=True):
        density = density * (w * room if at else 1 - w * room)
    return math.log(density.sum()), float(density @ w / density.sum())


def test_gaps_and_the_weight_follow_their_joint_posterior():
    """Every choice between default and value, the values on a grid, the weight integrated out by hand."""
    table, grid = table_of(), torch.linspace(0, 1, 61, dtype=torch.float64)
    terms, means, labels = [], [], []
    for chosen in itertools.product([True, False], repeat=2):
        axes = [torch.zeros(1).double() if at else grid for at in chosen]
        cells = torch.cartesian_prod(*axes)
        inside = log_density(table, cells).logsumexp(0) - math.log(len(cells))
        prior, mean = prior_of(chosen)
        terms.append(float(inside) + prior)
        means.append(mean)
        labels.append(chosen)
    share = np.exp(np.array(terms) - max(terms))
    share /= share.sum()
    first, second = (float(share @ np.array([one[i] for one in labels], dtype=float)) for i in (0, 1))
    assert abs(first - second) > 0.1, "the outcomes must tell the two gaps apart"

    worlds, generator = 600, torch.Generator().manual_seed(0)
    priors, hyper = uniform_priors(table, worlds), hyper_of(worlds)
    codes = sampler.guess(to_codes(table, table.inputs).expand(worlds, -1, -1), priors, table, generator)
    found, weights = [], []
    for turn in range(150):
        P = sampler.inverse_of(table, hyper, codes)
        _, priors = sampler.sweep(codes, P, table, priors, hyper, generator)
        if turn >= 30:
            found.append((codes[:, 3:, 0] == 0).double())
            weights.append(priors.blanks.weight[:, 0].mean())
    found = torch.cat(found).mean(0)
    assert float(found[0]) == pytest.approx(first, abs=0.02)
    assert float(found[1]) == pytest.approx(second, abs=0.02)
    assert float(torch.stack(weights).mean()) == pytest.approx(float(share @ np.array(means)), abs=0.02)


def joint_test(worlds=400, turns=25):
    """Weights, values and outcomes from their joint prior; then sweeps and new outcomes in turn (Geweke 2004)."""
    table, generator = table_of(), torch.Generator().manual_seed(1)
    priors, hyper = uniform_priors(table, worlds), hyper_of(worlds)
    nothing = torch.full((worlds, 2, 1), 0.5, dtype=torch.float64)
    none = torch.zeros(2, dtype=torch.bool)
    priors = dataclasses.replace(priors, blanks=priors.blanks.learn(nothing, none, generator))  # a draw of the prior
    codes = sampler.guess(to_codes(table, table.inputs).expand(worlds, -1, -1), priors, table, generator)
    sums = []
    for turn in range(turns):
        L = log_density(table, codes[:, 3:, 0], targets=True).scale_tril
        y = (L @ torch.randn(worlds, 5, 1, generator=generator, dtype=torch.float64)).squeeze(-1)
        drawn = dataclasses.replace(table, drawn=y)
        w, there = priors.blanks.weight[:, 0], (codes[:, 3:, 0] == 0).double()
        if turn >= 5:
            sums.append(torch.stack([w, w.square(), there.mean(-1), w * there[:, 0], codes[:, 3:, 0].mean(-1)], -1))
        P = sampler.inverse_of(table, hyper, codes)
        _, priors = sampler.sweep(codes, P, drawn, priors, hyper, generator)
    return torch.stack(sums).mean(0)  # (worlds, statistics)


def test_the_joint_distribution_is_kept():
    first, second = (np.mean([beta.moment(k, *prior) for prior in (MOSTLY, HARDLY)]) for k in (1, 2))
    expected = torch.tensor([first, second, 0.7 * first, second, 0.5 - 0.35 * first], dtype=torch.float64)
    found = joint_test()
    off = (found.mean(0) - expected) / (found.std(0) / len(found) ** 0.5)
    assert float(off.abs().max()) < 4, off


def test_a_weight_that_is_learned_of_one_side_only_would_be_seen(monkeypatch):
    learn = Blanks.learn
    monkeypatch.setattr(Blanks, "learn", lambda self, x, rows, rng: learn(self, torch.zeros_like(x), rows, rng))
    with pytest.raises(AssertionError):
        test_the_joint_distribution_is_kept()


def blanks_of(own, weight, slots=1):
    one = torch.ones(1, slots, dtype=torch.float64)
    return Blanks(torch.zeros(1, slots, dtype=torch.long), 0 * one, own * one, one, torch.zeros(1), weight)


def test_a_default_that_is_also_recorded_is_shared_between_both_explanations():
    weight = torch.full((4000, 1), 0.3, dtype=torch.float64)
    labels = blanks_of(0.5, weight).labels(torch.zeros(4000, 1, 1).double(), torch.Generator().manual_seed(0))
    assert float(labels.double().mean()) == pytest.approx(0.3 / (0.3 + 0.7 * 0.5), abs=0.03)
    elsewhere = blanks_of(0.5, weight).labels(torch.full((4000, 1, 1), 0.2), torch.Generator().manual_seed(0))
    assert not elsewhere.any()


def test_the_normal_number_behind_a_default_is_drawn_given_those_of_the_row():
    root = torch.linalg.cholesky(torch.tensor([[[1.0, 0.8], [0.8, 1.0]]], dtype=torch.float64))
    z = torch.tensor([1.5, -6.0], dtype=torch.float64).expand(20000, 1, 2)
    labels = torch.tensor([False, True]).expand(20000, 1, 2)
    blanks = blanks_of(0.0, torch.ones(20000, 1), slots=2)
    found = blanks.free(z, labels, root, torch.Generator().manual_seed(0))
    assert (found[..., 0] == 1.5).all()
    assert float(found[..., 1].mean()) == pytest.approx(0.8 * 1.5, abs=0.02)
    assert float(found[..., 1].std()) == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    ("parameter", "blanks", "place"),
    [
        (Real(0, 2), 20, 0.0),
        (Real(0, 2), 19, None),  # too few to learn from unasked
        (Real(-1, 2), 20, None),  # 0 is a value like others
        (Real(1, 3), 20, None),
        (Real(0, 2, blank="unknown"), 20, None),
        (Real(1, 3, blank="maybe"), 1, 0.0),
        (Real(0, 2, blank="maybe", default=1.5), 1, 0.75),
        (Integer(-2, 2, blank="maybe"), 1, 0.5),
        (Categorical(["a", "b", "c"]), 20, None),
        (Categorical(["a", "b", "c"], blank="maybe"), 1, 1.0),
        (Categorical(["a", "b", "c"], blank="maybe", default="c"), 1, 2.0),
    ],
)
def test_what_a_blank_may_mean(parameter, blanks, place):
    known = torch.tensor([0.0, 1.0, 1.0, NAN], dtype=torch.float64)
    assert (default_place(parameter, known) if parameter.may_mean(blanks) else None) == place


def test_a_table_whose_blanks_mean_nothing_costs_nothing():
    table = table_of(parameter=Real(0.05, 1))
    assert gap_priors(table, to_codes(table, table.inputs), 2).blanks is None


def test_asked_and_stated_values_are_no_blanks():
    space = {"x": Real(0, 1, blank="maybe"), "y": Real(0, 1)}
    frame = pd.DataFrame({"x": [0.2, "0.5±0.1", None, None], "asked.x": [None, None, 0.4, None], "y": 0.5, "out": 1.0})
    optimizer = bomi.Optimizer(space, objective="out", seed=0)
    optimizer.tell(frame)
    table = optimizer._known.fit.table
    found = gap_priors(table, to_codes(table, table.inputs), 1).blanks
    assert found.at[:, 0].isnan().tolist() == [True, True, False]


def alloys(kind, rows=60, seed=0):
    """Strength by temperature and an element that some rows do not name: it was not there, or was not reported."""
    rng = np.random.default_rng(seed)
    heat, moly = rng.uniform(0, 1, rows), rng.uniform(0.3, 1, rows)
    blank = np.arange(rows) % 2 == 0
    if kind == "none":
        moly[blank] = 0
    strength = 40 * np.sin(3 * heat) + 60 * moly + rng.normal(size=rows)
    return pd.DataFrame({"heat": heat, "Mo": np.where(blank, np.nan, moly), "strength": strength})


@pytest.mark.parametrize(("kind", "least", "most"), [("none", 0.8, 1.0), ("random", 0.0, 0.2)])
def test_what_blanks_mean_is_recognised(kind, least, most):
    optimizer = bomi.Optimizer({"heat": (0, 1), "Mo": bomi.Real(0, 1)}, objective="strength", seed=0)
    optimizer.tell(alloys(kind))
    share = np.mean([np.mean(np.array(gap.draws) == 0) for gap in optimizer.gap_draws()])
    assert least <= share <= most


def test_the_gaps_say_what_blanks_mean():
    optimizer = bomi.Optimizer({"heat": (0, 1), "Mo": bomi.Real(0, 1, unit="%")}, objective="strength", seed=0)
    optimizer.tell(alloys("none"))
    frame = optimizer.gaps()
    share = np.mean([one[0] for one in frame["probabilities"]])
    (sentence,) = meanings(optimizer.space, zip(frame["parameter"], frame["probabilities"], strict=True))
    assert sentence == f"Mo: blanks mean 0 % with probability {share:.2f}"


def test_a_large_table_learns_what_blanks_mean_from_all_rows(monkeypatch):
    monkeypatch.setattr("bomi.impute.table.LARGE", 40)
    optimizer = bomi.Optimizer({"heat": (0, 1), "Mo": bomi.Real(0, 1)}, objective="strength", seed=0)
    optimizer.tell(alloys("none", rows=100))  # the anchors are complete rows
    share = np.mean([np.mean(np.array(gap.draws) == 0) for gap in optimizer.gap_draws()])
    assert share > 0.8


@pytest.mark.parametrize(("kind", "least", "most"), [("none", 0.8, 1.0), ("random", 0.0, 0.2)])
def test_some_of_many_rows_judge_what_blanks_mean(kind, least, most, monkeypatch):
    monkeypatch.setattr("bomi.posterior.starts.MOST_JOINING", 10)
    monkeypatch.setattr("bomi.posterior.starts.JOINING", 8)
    optimizer = bomi.Optimizer({"heat": (0, 1), "Mo": bomi.Real(0, 1)}, objective="strength", seed=0)
    optimizer.tell(alloys(kind))
    share = np.mean([np.mean(np.array(gap.draws) == 0) for gap in optimizer.gap_draws()])
    assert least <= share <= most
