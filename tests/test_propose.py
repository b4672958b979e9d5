"""What is learned from a table, where to experiment next and what to use: the steps between, one by one."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from bomi import METHODS, Optimizer, Space
from bomi.answers.propose import promising, space_filling, uniform
from bomi.answers.recommend import NOMINAL, _relative_merits, best_of_each_draw, recommended, trade_offs
from bomi.learning import DRAWS, _good_rows, draw_seed, learn, table_of
from bomi.search import candidates
from bomi.search.choices import Choices
from bomi.search.outlook import Outlook

SPACE = Space({"a": (0, 1), "b": (0, 1)})
NOTHING = torch.empty(0, 2, dtype=torch.float64)


def told(method="mean", rows=8, **options):
    """An optimizer that knows some rows, every third with a gap."""
    optimizer = Optimizer(SPACE, method=method, seed=3, **options)
    for i, x in enumerate(np.random.default_rng(0).random((rows, 2))):
        outcome = -((x[0] - 0.3) ** 2) - (x[1] - 0.6) ** 2
        told = outcome if len(optimizer.outcomes) == 1 else {"y": outcome, "z": float(x[0])}
        optimizer.tell({"a": x[0], "b": None if i % 3 == 0 else x[1]}, told)
    return optimizer


class Watched:
    """A search that looks nowhere: it notes what it is given, and takes the places it is told."""

    def __init__(self, places):
        self.places, self.seen, self.shortlists = list(places), [], []

    def region(self, table, completed, t):
        return t

    def shortlist(self, per_world, space, *, seed, starts):
        self.shortlists.append((len(per_world), seed))
        return NOTHING

    def maximize(self, task):
        self.seen.append(vars(task))
        return self.places[len(self.seen) - 1]


class Noted:
    """An acquisition that notes the outlook and the time of every suggestion."""

    def __init__(self):
        self.outlooks, self.times = [], []

    def score(self, outlook, *, t, parameters):
        self.outlooks.append(outlook)
        self.times.append((t, parameters))
        return lambda points: points[:, 0]


def proposed(count, pending=NOTHING, method="mean"):
    places = torch.rand(20, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    search, acquisition = Watched(places), Noted()
    fit = told(method)._known.fit
    fit = dataclasses.replace(fit, method=dataclasses.replace(fit.method, search=search))
    found = promising(fit, acquisition, pending, count=count, t=7, first_seed=40, seed=3)
    assert [place.tolist() for place in found] == places[:count].tolist()
    return fit, search, acquisition, places


# --- a batch ----------------------------------------------------------------------------------------------------------


def test_each_point_of_a_batch_is_chosen_given_those_before_it_and_those_pending():
    pending = torch.tensor([[0.9, 0.9]], dtype=torch.float64)
    fit, search, acquisition, places = proposed(3, pending)
    rows = fit.measured.shape[1]
    known = [outlook.models[0].inputs[0, rows:].tolist() for outlook in acquisition.outlooks]
    expected = [[*pending.tolist(), *places[:k].tolist()] for k in range(3)]
    assert [one for i, one in enumerate(known) if i == 0 or one != known[i - 1]] == expected
    for k, seen in enumerate(search.seen):
        assert seen["taken"].tolist() == expected[k]
        assert torch.equal(seen["starts"], fit.good_rows)
        assert (seen["seed"], seen["within"]) == (draw_seed(3, 40 + k), 7 + k)
    assert sorted(set(acquisition.times)) == [(7, 2), (8, 2), (9, 2)]


def test_without_pending_points_the_first_of_a_batch_knows_the_rows_alone():
    fit, search, acquisition, _ = proposed(1)
    assert acquisition.outlooks[0].models[0].inputs.shape[1] == fit.measured.shape[1]
    assert len(search.seen[0]["taken"]) == 0
    assert search.seen[0]["shortlist"] is None
    assert search.shortlists == []  # one point has nobody to share it with


def test_the_points_of_a_batch_share_a_shortlist_sixteen_at_a_time():
    _, search, _, _ = proposed(candidates.SHARED_BY + 1)
    assert search.shortlists == [(1, draw_seed(3, 40)), (1, draw_seed(3, 40 + candidates.SHARED_BY))]
    assert all(seen["shortlist"] is NOTHING for seen in search.seen)


def test_a_batch_spreads_out_where_one_point_would_be_asked_for_twice():
    optimizer = told()
    first, second = optimizer.ask(2)
    assert math.dist(first.values(), second.values()) > 0.03


def test_one_by_one_the_points_are_those_of_a_batch():
    """Where a search shares nothing within a batch: what is pending counts as what was chosen before."""
    batch, single = told().ask(3), told()
    for together in batch:
        assert dict(single.ask()) == pytest.approx(dict(together), abs=1e-6)


def test_points_without_a_model_go_on_with_their_sequence_and_are_never_taken():
    fit = told(rows=1)._known.fit
    sequence = candidates.space_filling(SPACE, 8, seed=draw_seed(3, 0))
    found = space_filling(fit, sequence[3:4], count=3, first=2, seed=3)
    assert torch.stack(found).tolist() == sequence[[2, 4, 5]].tolist()


def test_random_points_depend_on_the_seed_and_on_how_many_there_are():
    first = uniform(Choices(SPACE), NOTHING, count=3, first=5, seed=1)
    assert torch.equal(torch.stack(first[1:]), torch.stack(uniform(Choices(SPACE), NOTHING, count=2, first=6, seed=1)))
    assert not torch.equal(first[0], uniform(Choices(SPACE), NOTHING, count=1, first=5, seed=2)[0])
    taken = uniform(Choices(SPACE), first[0][None], count=1, first=5, seed=1)[0]
    assert not torch.equal(taken, first[0])


# --- learning ---------------------------------------------------------------------------------------------------------


class Counting:
    """An imputer that remembers how it came to be."""

    yields = METHODS["mean"].imputer.yields

    def __init__(self):
        self.inner = METHODS["mean"].imputer

    def init(self, table, rng):
        return ("init", rng.initial_seed(), self.inner.init(table, rng))

    def step(self, state, table, rng):
        return ("step", rng.initial_seed(), self.inner.init(table, rng))

    def completed(self, state):
        return state[2]

    def draws(self, state, count, rng):
        return (count, rng.initial_seed())


def test_an_imputer_continues_from_its_state_by_chance_that_depends_on_the_rows_alone():
    method = dataclasses.replace(METHODS["mean"], imputer=Counting())
    table = told()._known.fit.table
    first = learn(table, method, 3)
    assert first.state[:2] == ("init", draw_seed(3, 8))
    second = learn(table, method, 3, before=first.state)
    assert second.state[:2] == ("step", draw_seed(3, 8))
    nothing = dataclasses.replace(table, targets=torch.full_like(table.targets, torch.nan))
    unlearned = learn(nothing, method, 3, before=first.state)
    assert unlearned.state is None
    assert not unlearned.enough
    assert learn(table, method, 3, before=unlearned.state).state[0] == "init"
    assert first.draws == (DRAWS, draw_seed(3, 9))


def test_outcomes_are_negated_where_less_is_better_and_keep_their_errors_and_keys():
    optimizer = Optimizer(SPACE, goal="minimize", seed=0)
    optimizer.ask()  # pending: no row of the table
    optimizer.tell({"a": 0.1, "b": 0.2}, 5.0, sd=0.5)
    optimizer.tell({"a": 0.3, "b": 0.2}, 7.0)
    optimizer.tell({"a": 0.5, "b": 0.2}, failed=True)
    table = table_of(SPACE, optimizer.objectives, optimizer.observations, "cuda")
    torch.testing.assert_close(table.targets, torch.tensor([[-5.0, -7.0, torch.nan]]).double(), equal_nan=True)
    assert table.errors.tolist() == [[0.25, 0.0, 0.0]]
    assert table.keys == optimizer.observations.tried_keys
    assert table.device == "cpu"


def test_the_good_rows_of_a_world_are_its_three_best_and_of_several_outcomes_some_of_its_front():
    rows = torch.linspace(0, 1, 10, dtype=torch.float64)[None, :, None]
    one = Outlook((), (None,), torch.tensor([3, 9, 1, 7, 8, 2, 0, 4, 5, 6.0])[None, :, None])
    assert _good_rows(one, rows).flatten().tolist() == pytest.approx([1 / 9, 4 / 9, 3 / 9])
    line = torch.linspace(0, 1, 10, dtype=torch.float64)
    front = Outlook((), (None, None), torch.stack([line, -line], -1)[None])  # all are undominated
    assert _good_rows(front, rows).flatten().tolist() == pytest.approx([0, 2 / 9, 4 / 9, 5 / 9, 7 / 9, 1])
    beaten = Outlook((), (None, None), torch.stack([line, line], -1)[None])
    assert _good_rows(beaten, rows).flatten().tolist() == [1]


def test_failed_rows_teach_where_experiments_succeed_and_nothing_else():
    optimizer = told()
    optimizer.tell({"a": 0.9, "b": 0.9}, failed=True)
    fit = optimizer._known.fit
    assert fit.measured.shape[1] == 8
    assert fit.usable == 8
    place = torch.tensor([[0.9, 0.9], [0.3, 0.6]], dtype=torch.float64)
    at, away = fit.success.log_chance(place).mean(0)
    assert at < away
    assert told()._known.fit.success is None


# --- what to use ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcomes", "count"), [(2, 10), (3, 11), (4, 11)])
def test_trade_offs_are_evenly_spread_and_end_with_the_equal_one(outcomes, count):
    weights = trade_offs(outcomes)
    assert weights.shape == (count, outcomes)
    torch.testing.assert_close(weights.sum(-1), torch.ones(count, dtype=torch.float64))
    assert weights[-1].tolist() == pytest.approx([1 / outcomes] * outcomes)
    for j in range(outcomes):
        assert (weights[:, j] == 1).sum() == 1  # each outcome alone
    assert trade_offs(1).tolist() == [[1.0]]


def test_merits_are_shares_of_what_was_tried_the_best_of_which_is_0():
    fit = told(objective={"y": "maximize", "z": "minimize"})._known.fit
    found = _relative_merits(fit.outlook, fit.measured[0])
    tried = fit.outlook.tried.mean(0)
    expected = (tried - tried.amax(0)) / (tried.amax(0) - tried.amin(0))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    assert found.amax(0).tolist() == pytest.approx([0, 0], abs=1e-9)


def test_the_recommended_setting_has_the_best_mean_and_a_trade_off_moves_it():
    fit = told("posterior", rows=12)._known.fit
    best = recommended(fit, torch.ones(1), NOMINAL, seed=0)
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 41, dtype=torch.float64)] * 2)
    with torch.no_grad():
        assert fit.outlook.merits(best[None])[0, 0] >= fit.outlook.merits(grid).max() - 1e-6
    several = told(objective={"y": "maximize", "z": "maximize"}, rows=12)._known.fit
    one, other = (recommended(several, torch.tensor(w).double(), NOMINAL, seed=0) for w in ([1.0, 0.0], [0.0, 1.0]))
    assert other[0] > one[0] + 0.1


def test_each_draw_s_best_is_the_best_of_its_own_model_in_the_outcome_s_unit():
    fit = told("posterior", rows=9)._known.fit
    (found,) = best_of_each_draw(fit, seed=0)
    assert len(found) == len(fit.draws.inputs) >= DRAWS
    points = torch.cat([fit.good_rows, recommended(fit, torch.ones(1), NOMINAL, seed=0)[None]])
    for q in (0, 30, len(found) - 1):
        (model,) = fit.models_of(fit.draws.select(torch.tensor([q])))
        with torch.no_grad():
            expected = fit.transforms[0].to_outcomes(model.moments(points)[0].max())
        assert float(found[q]) == pytest.approx(float(expected), abs=1e-9)
    assert best_of_each_draw(told("mean")._known.fit, seed=0) is None  # one world says nothing of the others


def test_predictions_have_the_total_variance_of_the_worlds():
    optimizer = told("bomi")
    places = np.array([[0.2, 0.3], [0.8, 0.1]])
    model, transform = optimizer.learned()
    with torch.no_grad():
        means, variances = model.moments(torch.from_numpy(places))
    total = (variances.mean(0) + (means - means.mean(0)).square().mean(0)).sqrt()
    mean, sd = optimizer.expected(places)
    np.testing.assert_allclose(mean, transform.to_outcomes(means.mean(0)))
    np.testing.assert_allclose(sd, total * transform.unit * transform.scale)


def test_a_table_that_has_changed_is_learned_again():
    optimizer = told()
    fit = optimizer._known.fit
    assert optimizer._known.fit is fit
    optimizer.ask()
    assert optimizer._known.fit is fit  # what is pending teaches nothing
    optimizer.tell({"a": 0.5, "b": 0.5}, 1.0)
    assert len(optimizer._known.fit.table) == len(fit.table) + 1
