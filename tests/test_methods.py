import dataclasses
import itertools
import math

import pytest
import torch

import bomi
from bomi import METHODS, BomiError, method
from bomi.impute.completed import Completed
from bomi.impute.distributions import Distributions
from bomi.impute.matrix_factorization import MatrixFactorization
from bomi.impute.neighbors import Neighbors
from bomi.model import fitting
from bomi.model.surrogates import AdditiveGP, DistributionGP, PlainGP
from bomi.names import DEFAULT, METHOD_NAMES
from bomi.search import acquisition
from bomi.search.criteria import ACQUISITIONS, ExpectedImprovement, UpperConfidenceBound
from bomi.search.outlook import Outlook
from bomi.search.strategy import BestOf, MultiStart
from bomi.search.trust_region import TrustRegion

PAPER = ("bomi", "drop", "suggest", "mean", "mode", "knn", "bpmf", "ugp")


def test_the_paper_s_methods_and_random_search_are_there():
    assert {*PAPER, "random"} <= set(METHODS)
    for name, row in METHODS.items():
        assert row.name == name
        assert row.about


def test_defaults_are_the_numbers_of_the_paper():
    filler = METHODS["bomi"].filler
    assert (filler.worlds, filler.rank, filler.noise, filler.sweeps) == (5, 15, 0.01, 40)
    assert METHODS["bpmf"].filler == dataclasses.replace(filler, worlds=1)
    assert METHODS["knn"].filler.neighbors == 5
    for name in PAPER:
        assert METHODS[name].acquisition == UpperConfidenceBound(delta=0.1, beta_scale=0.2, beta_alpha=None)
    assert METHODS["random"].acquisition is None
    assert METHODS["ugp"].surrogate == DistributionGP()


def test_settings_can_be_changed_and_the_table_stays_as_it_is():
    changed = method("bomi", worlds=3, delta=0.05, beta_alpha=1.0)
    assert changed.filler == MatrixFactorization(worlds=3)
    assert changed.acquisition == UpperConfidenceBound(delta=0.05, beta_alpha=1.0)
    assert METHODS["bomi"].filler == MatrixFactorization()
    assert method("knn", neighbors=2).filler == Neighbors(2)
    assert method("ugp", execution_sd=0.1).filler == Distributions(0.1)
    assert method(changed, worlds=4).acquisition == changed.acquisition


def test_a_method_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["bomi"].rows = 5


def test_an_unknown_method_is_told_with_the_known_ones():
    with pytest.raises(
        BomiError, match=r"unknown method 'bomii'; the known ones are posterior, bomi, drop, .*did you mean 'bomi'"
    ):
        method("bomii")
    with pytest.raises(BomiError, match="unknown method 3"):
        method(3)


def test_an_unknown_setting_is_told_with_the_known_ones():
    with pytest.raises(BomiError, match=r"'knn' has no setting 'worlds'; it has .*neighbors"):
        method("knn", worlds=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"worlds": 0},
        {"worlds": 2.5},
        {"rank": 0},
        {"noise": 0},
        {"sweeps": 0},
        {"delta": 0},
        {"delta": 1},
        {"beta_scale": -1},
    ],
)
def test_a_setting_that_makes_no_sense_is_told_at_once(settings):
    (name,) = settings
    with pytest.raises(BomiError, match=name):
        method("bomi", **settings)


@pytest.mark.parametrize(("name", "settings"), [("knn", {"neighbors": 0}), ("ugp", {"execution_sd": -0.1})])
def test_a_setting_of_another_method_likewise(name, settings):
    with pytest.raises(BomiError, match=next(iter(settings))):
        method(name, **settings)


def outlook(model):
    return Outlook.of([model], [None], model.inputs, None)


def model_of(worlds):
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(worlds, 8, 2, generator=generator, dtype=torch.float64)
    return fitting.fit(X, torch.rand(8, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("beta_alpha", [None, 0.7])
def test_the_ucb_of_a_method_is_the_formula(beta_alpha):
    model, points = model_of(3), torch.rand(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mean, variance = model.moments(points)
    exploration = 0.2 * math.sqrt(acquisition.beta(4, 2, delta=0.1))
    alpha = mean + exploration * variance.sqrt()
    expected = alpha.mean(0) + (exploration if beta_alpha is None else beta_alpha) * alpha.std(0)
    score = UpperConfidenceBound(beta_alpha=beta_alpha).score(outlook(model), t=4, parameters=2)
    torch.testing.assert_close(score(points), expected)


def test_the_rise_is_over_each_world_s_best_mean():
    model, points = model_of(3), torch.rand(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    means, best = model.fitted().topk(4)
    mean, own, others = model.lessons(model.inputs.take_along_dim(best.unsqueeze(-1), 1))(points)
    expected = acquisition.log_mean(acquisition.log_rise(mean, own, means, others))
    torch.testing.assert_close(ExpectedImprovement().score(outlook(model), t=1, parameters=2)(points), expected)


def test_a_surrogate_over_distributions_needs_variances():
    completed = Completed(torch.rand(1, 3, 2).double(), torch.rand(3).double())
    space = bomi.Space({"a": (0, 1), "b": (0, 1)})
    with pytest.raises(BomiError, match="variances"):
        DistributionGP()(completed, space)
    assert PlainGP()(completed, space).batch_shape == (1,)


def test_a_method_of_one_s_own_runs():
    own = dataclasses.replace(METHODS["mean"], name="mean-ei", acquisition=ExpectedImprovement())
    optimizer = bomi.Optimizer({"x": (0, 1)}, method=own, seed=0)
    for x in (0.1, 0.5, 0.9):
        optimizer.tell({"x": x}, -((x - 0.6) ** 2))
    assert 0.3 < optimizer.ask()["x"] < 0.9


def test_the_names_known_without_torch_are_those_of_the_table():
    assert tuple(METHODS) == METHOD_NAMES
    assert DEFAULT in METHODS


IMPUTERS = {name: row.imputer for name, row in METHODS.items()}
SURROGATES = {"plain": PlainGP(), "additive": AdditiveGP(), "distributions": DistributionGP()}
SEARCHES = {"best of": BestOf(200), "multi-start": MultiStart(TrustRegion())}


def fits(imputer, surrogate):
    return surrogate != "distributions" or imputer == "ugp"


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("imputer", IMPUTERS)
def test_every_imputer_goes_with_every_surrogate_that_can_learn_from_its_worlds(imputer, surrogate):
    """Three suggestions of each combination, with every acquisition, an input lost each time."""
    parts = {"imputer": IMPUTERS[imputer], "surrogate": SURROGATES[surrogate]}
    if not fits(imputer, surrogate):
        with pytest.raises(BomiError, match="learns from UncertainInputs, but the imputer makes"):
            dataclasses.replace(METHODS["posterior"], **parts)
        return
    rng = torch.Generator().manual_seed(0)
    rows = torch.rand(6, 2, generator=rng, dtype=torch.float64).tolist()
    for acquisition_name, search in itertools.product(ACQUISITIONS, SEARCHES.values()):
        own = dataclasses.replace(
            METHODS["posterior"], **parts, acquisition=ACQUISITIONS[acquisition_name], search=search
        )
        optimizer = bomi.Optimizer({"a": (0, 1), "b": (0, 1)}, method=own, seed=0)
        for i, (a, b) in enumerate(rows):
            optimizer.tell({"a": a, "b": None if i == 2 else b}, -((a - 0.3) ** 2) - b)
        for step in range(3):
            suggestion = optimizer.ask()
            assert not suggestion.note
            optimizer.tell(suggestion, 0.1 * step, actual={"b": None} if step == 1 else None)
        assert set(optimizer.best().setting) == {"a", "b"}
        assert len(optimizer.gaps()) == 2


def test_a_setting_is_found_in_whichever_part_has_it():
    changed = method("knn", neighbors=2, beta_scale=0.5, points=10)
    assert changed.filler == Neighbors(2)
    assert changed.acquisition == UpperConfidenceBound(beta_scale=0.5)
    assert changed.search == BestOf(10)
    assert method("posterior", radius=0.1).search == MultiStart(TrustRegion(0.1))
