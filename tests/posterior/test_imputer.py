"""When chains are continued or begun anew, and what they remember."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.completed import Explained
from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior import imputer, policy
from bomi.posterior.imputer import Chains, Posterior
from bomi.space import Space

SPACE = Space({"a": (0, 1), "b": (0, 1)})
NAN = math.nan
IDENTITY = (Transform(),)
WARPED = Transform(warp=1.0, origin="best")


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def table_of(rows, gaps=3):
    """A smooth outcome, some rows with a gap."""
    X = torch.rand(rows, 2, generator=rng(), dtype=torch.float64)
    y = torch.sin(4 * X[:, 0]) + X[:, 1]
    inputs = X.clone()
    for i in range(1, gaps + 1):
        inputs[i, i % 2] = torch.nan
    return Table(SPACE, inputs, torch.full_like(X, NAN), y, keys=tuple(range(100, 100 + rows)))


def chains_of(table, *, worlds=2, transforms=IDENTITY, hyper=True):
    """Chains that are there, whatever they explain."""
    inputs = table.inputs.nan_to_num(nan=0.5).repeat(worlds, 1, 1)
    theta = torch.zeros(worlds, 7, dtype=torch.float64) if hyper else None
    return Chains(table.transformed(transforms), tuple(transforms), inputs, theta)


# --- rows are known by their keys -------------------------------------------------------------------------------------


def test_rows_that_come_and_go_are_found_again_by_their_keys():
    table = table_of(4, 2)
    chains = dataclasses.replace(chains_of(table), inputs=torch.arange(16.0, dtype=torch.float64).reshape(2, 4, 2))
    after = dataclasses.replace(table_of(4, 2), keys=(103, 7, 100, 101))
    found, same = chains.continued(after)
    assert same is after
    assert found[:, [0, 2, 3]].tolist() == chains.inputs[:, [3, 0, 1]].tolist()
    assert found[:, 1].isnan().all()


# --- the outcome transform is chosen again ----------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """How often a transform is chosen; chains are made without work, and know whence they come."""
    chosen, drawn = [], []

    def choose_transforms(table, worlds=None):
        chosen.append((len(table), None if worlds is None else len(worlds)))
        return (WARPED,)

    def draw(self, table, transforms, rng, worlds=None, hyper=None):
        drawn.append((tuple(transforms), None if worlds is None else len(worlds), hyper is not None))
        return chains_of(table, transforms=transforms, hyper=hyper is not None)

    monkeypatch.setattr(policy, "choose_transforms", choose_transforms)
    monkeypatch.setattr(Posterior, "_draw", draw)
    monkeypatch.setattr(Posterior, "_learned", lambda self, chains, rng, *, judged=True: chains)
    return chosen, drawn


@pytest.mark.parametrize(("rows", "before", "times"), [(15, 14, 1), (16, 15, 0), (19, 18, 0), (17, 14, 1)])
def test_without_gaps_a_transform_is_chosen_again_every_fifth_row(counted, rows, before, times):
    chosen, drawn = counted
    Posterior().step(chains_of(table_of(before, 0)), table_of(rows, 0), rng())
    assert chosen == [(rows, None)] * times
    ((transforms, _, hyper),) = drawn
    assert policy.alike(transforms, [WARPED]) == bool(times)
    assert hyper == (not times)  # those of another warp are useless


def test_the_same_warp_keeps_the_hyper_parameters(counted):
    table = table_of(14, 0)
    state = chains_of(table, transforms=policy.same_transforms(table, [WARPED]))
    Posterior().step(state, table_of(15, 0), rng())
    assert counted[1] == [((WARPED,), 2, True)]


def test_with_gaps_everything_begins_from_nothing_whenever_the_table_has_grown_by_a_fifth(counted, caplog):
    chosen, drawn = counted
    caplog.set_level("INFO", logger="bomi")
    restarts = []
    for rows in range(61, 120):
        drawn.clear()
        Posterior().step(chains_of(table_of(rows - 1)), table_of(rows), rng())
        ((_, worlds, hyper),) = drawn
        assert hyper == (worlds is not None)
        if worlds is None:
            restarts.append(rows)
    assert restarts == [67, 80, 96, 115]
    said = [f"restart after {rows} rows: the table has grown by a fifth" for rows in restarts]
    assert [message for message in caplog.messages if message.startswith("restart")] == said
    assert chosen == [(rows, None) for rows in restarts]  # and the transform stays until then


def test_from_nothing_few_complete_rows_let_the_worlds_choose_again(counted, monkeypatch):
    chosen, drawn = counted
    Posterior().init(table_of(21, 2), rng())  # 19 complete rows of two parameters: fewer than ten each
    assert chosen == [(21, None), (21, 2)]
    assert len(drawn) == 1  # the choice was the same
    chosen.clear()
    Posterior().init(table_of(22, 2), rng())
    assert chosen == [(22, None)]
    chosen.clear()
    Posterior().init(table_of(12, 0), rng())  # all are complete
    assert chosen == [(12, None)]
    drawn.clear()
    monkeypatch.setattr(
        policy, "choose_transforms", lambda table, worlds=None: IDENTITY if worlds is None else (WARPED,)
    )
    after = Posterior().init(table_of(12, 2), rng())
    assert [one[:2] for one in drawn] == [((Transform(),), None), ((WARPED,), 2)]
    assert policy.alike(after.transforms, [WARPED])


def test_a_process_with_too_few_rows_begins_anew(counted):
    state = chains_of(table_of(14), hyper=False)
    Posterior().step(state, table_of(16), rng())
    assert counted[0][0] == (16, None)


# --- jumps between explanations ---------------------------------------------------------------------------------------


@pytest.fixture
def exchanged(counted, monkeypatch):
    """What is offered in exchange: how many rows taught it, and the hyper-parameters; every offer is taken."""
    offers = []
    monkeypatch.setattr(
        imputer, "start_hyper", lambda table, inputs, worlds, rng: torch.ones(worlds, 7).double() * len(table)
    )
    monkeypatch.setattr(imputer, "draw_hyper", lambda table, inputs, hyper, rng, *, count=1: hyper + 0.5)

    def exchange(table, inputs, hyper, alone, rng):
        offers.append((len(table), float(alone[0, 0]), len(alone)))
        return inputs, alone, hyper

    monkeypatch.setattr(imputer, "exchange", exchange)
    return offers


def test_what_the_complete_rows_say_is_learned_once_and_drawn_on(exchanged):
    before = chains_of(table_of(67, 3))
    after = Posterior()._exchanged(before, rng())
    assert exchanged == [(67, 64.5, 2), (67, 0.5, 2)]  # by the complete rows; then the world's before, a move later
    assert torch.equal(after.hyper, before.hyper + 0.5)


def test_from_nothing_a_small_table_is_exchanged_more_often(exchanged, monkeypatch):
    monkeypatch.setattr(Posterior, "_draw", lambda self, table, transforms, *rest: chains_of(table))
    for rows, times in ((30, 6), (100, 2), (190, 1), (220, 1)):
        exchanged.clear()
        Posterior().init(table_of(rows, 3), rng())
        assert [one[0] for one in exchanged] == [rows] * times


def test_nothing_is_exchanged_without_gaps_or_without_complete_rows(exchanged):
    for table in (table_of(164, 0), table_of(164, 163), table_of(300, 3)):
        Posterior()._exchanged(chains_of(table), rng())
    assert exchanged == []
    Posterior()._exchanged(chains_of(table_of(164, 162)), rng())
    assert len(exchanged) == 1


# --- worlds and draws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "worlds"), [(10, 20), (50, 20), (51, 19), (100, 10), (199, 5), (250, 5)])
def test_a_smaller_table_gets_more_worlds(rows, worlds):
    assert Posterior()._count(table_of(rows)) == worlds
    assert Posterior(worlds=7)._count(table_of(rows)) == 7


def test_draws_are_whole_rounds_of_the_worlds_each_with_its_own_process():
    table, posterior = table_of(9), Posterior(worlds=3)
    state = chains_of(table, worlds=3)
    hyper = torch.zeros(3, 7, dtype=torch.float64)
    hyper[:, 0], hyper[:, -1] = torch.tensor([0.0, 0.5, 1.0]), -20.0
    state = dataclasses.replace(state, hyper=hyper)
    before = state.inputs.clone()
    found = posterior.draws(state, 11, rng())
    assert isinstance(found, Explained)
    assert found.inputs.shape == (12, 9, 2)
    torch.testing.assert_close(found.hyper[:, 0], torch.tensor([0.0, 0.5, 1.0] * 4, dtype=torch.float64))
    torch.testing.assert_close(found.hyper[:, -1], found.hyper[:, 0] + math.log(1e-5))  # as they were drawn
    assert torch.equal(state.inputs, before)
    gaps = table.inputs.isnan()
    assert (found.inputs[:, gaps].std(0) > 0.01).all()


def test_the_inverse_is_computed_afresh_every_tenth_round_of_draws(monkeypatch):
    computed, own = [], imputer.inverse_of
    monkeypatch.setattr(imputer, "inverse_of", lambda *args: computed.append(args) or own(*args))
    Posterior(worlds=2).draws(chains_of(table_of(9)), 2 * 21, rng())
    assert len(computed) == 3


def test_fewer_than_two_outcomes_are_too_few_for_a_process():
    table = table_of(4)
    for known, enough in ((1, False), (2, True)):
        few = dataclasses.replace(table, targets=torch.where(torch.arange(4) < known, table.targets, NAN))
        assert imputer._enough(few) == enough


def test_a_transform_is_chosen_by_one_world_after_another_and_spares_the_best_where_nothing_better_comes(monkeypatch):
    seen = []
    monkeypatch.setattr(
        policy,
        "choose_transform",
        lambda outcomes, aim, inputs, space, *, conditions, keep_upper_tail, ends: (
            seen.append((inputs, keep_upper_tail)) or Transform()
        ),
    )
    table = table_of(7, 2)
    worlds = torch.stack([torch.full((7, 2), float(q), dtype=torch.float64) for q in range(3)])
    policy.choose_transforms(table, worlds)
    inputs, keep = seen.pop()
    assert inputs[1, 1] == 7 % 3
    assert torch.equal(inputs[3:], table.inputs[3:])
    assert not keep
    stuck = table_of(7, 2)
    stuck.__dict__["evaluations_since_improvement"] = stuck.patience
    policy.choose_transforms(stuck)
    inputs, keep = seen.pop()
    assert inputs[1, 1].isnan()
    assert keep
