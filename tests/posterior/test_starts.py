"""How chains begin and how their hyper-parameters are learned: what is done, in which order, with how much noise."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.table import Table
from bomi.model import fitting
from bomi.model.kernels import NOISE
from bomi.posterior import hyper as hypers
from bomi.posterior import starts
from bomi.posterior.codes import to_codes
from bomi.posterior.sampler import prior_of
from bomi.space import Space

SPACE = Space({"a": (0, 1), "b": (0, 1)})
NAN = math.nan


def table_of(rows, gaps, *, seed=0, outcomes=1):
    """A smooth outcome; the first rows have a gap in turn."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(rows, 2, generator=generator, dtype=torch.float64)
    y = torch.sin(4 * X[:, 0]) + X[:, 1]
    inputs = X.clone()
    for i in range(gaps):
        inputs[i, i % 2] = torch.nan
    targets = torch.stack([(y - y.mean()) / y.std(), X[:, 1] - 0.5][:outcomes])
    return Table(SPACE, inputs, torch.full_like(inputs, NAN), targets, aims=(None,) * outcomes, keys=tuple(range(rows)))


class Record:
    """What a start does: every learning and every sweep, with the noise that it sees."""

    def __init__(self, monkeypatch):
        self.did, self.only, self.searched = [], [], []
        own = {name: getattr(starts, name) for name in ("sweep", "improve_hyper", "search_hyper", "inverse_of")}

        def sweep(codes, P, table, priors, hyper, rng, **options):
            self.did.append(("sweep", round(float(hyper[0, -1]), 3), options.get("step")))
            self.only.append(options.get("only"))
            return own["sweep"](codes, P, table, priors, hyper, rng, **options)

        def improve_hyper(table, inputs, hyper, *, steps):
            self.did.append(("learn", steps))
            return hyper

        def search_hyper(table, inputs, **options):
            self.searched.append(len(table))
            return self.hyper[:1]

        self.inverted = []

        def inverse_of(table, hyper, inputs, *, only=None):
            self.inverted.append(None if only is None else only.tolist())
            return own["inverse_of"](table, hyper, inputs, only=only)

        self.hyper = torch.tensor([[0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -8.0]], dtype=torch.float64)
        for name, replaced in (("sweep", sweep), ("improve_hyper", improve_hyper), ("search_hyper", search_hyper)):
            monkeypatch.setattr(starts, name, replaced)
        monkeypatch.setattr(starts, "inverse_of", inverse_of)


def begun(start, table, *rest, worlds=2, seed=0):
    known = to_codes(table, table.inputs)
    return start(table, known, prior_of(table, known, worlds), torch.Generator().manual_seed(seed), *rest)


def cooling(rounds, cold, low=-8.0):
    """The log noise of each of so many rounds, from that of a variance of 0.1 on."""
    high = math.log(0.1)
    return [round(low + max(1 - (turn + 1) / cold, 0) * (high - low), 3) for turn in range(rounds)]


def test_a_cold_start_with_many_complete_rows_learns_from_these_alone(monkeypatch):
    record = Record(monkeypatch)
    table = table_of(24, 4)
    begun(starts.cold_start, table)
    assert record.searched == [20]
    first, *sweeps, last = record.did
    assert first == ("sweep", round(math.log(0.1), 3), 1.0)  # rows join one by one, by fresh draws
    assert record.inverted[0] == [False] * 4 + [True] * 20
    assert [noise for _, noise, _ in sweeps] == cooling(starts.COLD_ROUNDS, starts.COLD_ROUNDS)
    assert last == ("learn", 6)


def test_a_cold_start_with_few_complete_rows_learns_on_the_way(monkeypatch):
    record = Record(monkeypatch)
    begun(starts.cold_start, table_of(23, 4))
    assert record.searched == [23]
    rounds = starts.COLD_ROUNDS + starts.MORE_ROUNDS
    assert [noise for what, noise, *_ in record.did[1:-1] if what == "sweep"] == cooling(rounds, starts.COLD_ROUNDS)
    assert [what for what, *_ in record.did[1:]] == ["learn", "sweep"] * rounds + ["learn"]


def test_a_restart_is_additive_at_first_learns_in_its_second_half_and_is_cold_in_the_last_fifth(monkeypatch):
    record = Record(monkeypatch)
    monkeypatch.setattr(starts, "RESTART_ROUNDS", 10)
    table = table_of(12, 4, outcomes=2)
    _, hyper = begun(starts.restart, table)
    assert record.searched == []
    middle = math.log(0.3)
    expected = [0.0, 3.0, middle, middle, middle + math.log(2) / 2, middle + math.log(2) / 2, NOISE[0]]
    torch.testing.assert_close(hyper, torch.tensor(expected, dtype=torch.float64).expand(4, -1))
    assert [noise for what, noise, *_ in record.did[1:-1] if what == "sweep"] == cooling(10, 8, low=-7.5)
    sweeps_before = [
        sum(one[0] == "sweep" for one in record.did[1:i]) for i, each in enumerate(record.did) if each[0] == "learn"
    ]
    assert sweeps_before == [5, 7, 9, 10]


def warm(record, table, worlds, fresh, hyper):
    """A warm start from worlds that lack the fresh rows."""
    before = table.inputs.nan_to_num(nan=0.25).expand(worlds, -1, -1).clone()
    before[:, fresh] = torch.nan
    return begun(starts.warm_start, table, before, hyper)


def test_a_warm_start_draws_the_new_rows_first_and_sweeps_all_once(monkeypatch):
    record = Record(monkeypatch)
    table, fresh = table_of(10, 4), torch.tensor([True, *[False] * 8, True])  # the last is new too, but complete
    hyper = record.hyper.repeat(2, 1) + torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    codes, after = warm(record, table, 2, fresh, hyper)
    torch.testing.assert_close(after, hyper)
    assert record.did == [("sweep", -8.0, 1.0), ("sweep", -8.0, None)]
    assert record.only[0].tolist() == [True] + [False] * 9
    assert record.only[1] is None
    assert record.inverted == [[False] + [True] * 9]
    assert not codes.isnan().any()


def test_a_warm_start_without_new_gaps_is_one_sweep(monkeypatch):
    record = Record(monkeypatch)
    warm(record, table_of(10, 4), 2, torch.zeros(10, dtype=torch.bool), record.hyper.repeat(2, 1))
    assert record.did == [("sweep", -8.0, None)]


def test_a_warm_start_without_hyper_parameters_learns_them_from_the_rows_before(monkeypatch):
    record = Record(monkeypatch)
    table, fresh = table_of(10, 4), torch.tensor([True, *[False] * 9])
    _, after = warm(record, table, 2, fresh, None)
    assert record.searched == [9]
    assert after.shape == (2, 7)
    assert record.did[2:] == [("learn", 8), ("sweep", -8.0, None)] * starts.WARM_ROUNDS


def test_more_worlds_than_before_begin_from_each_in_turn(monkeypatch):
    record = Record(monkeypatch)
    table = table_of(6, 1)
    before = table.inputs.nan_to_num(nan=0.0).expand(2, -1, -1).clone()
    before[1, 0, 0] = 1.0
    hyper = record.hyper.repeat(2, 1) + torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    began = []
    own = starts.guess
    monkeypatch.setattr(starts, "guess", lambda codes, *rest: began.append(own(codes, *rest)) or began[-1].clone())
    known = to_codes(table, table.inputs)
    _, after = starts.warm_start(
        table, known, prior_of(table, known, 5), torch.Generator().manual_seed(0), before, hyper
    )
    assert began[0][:, 0, 0].tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]
    torch.testing.assert_close(after, hyper[torch.tensor([0, 1, 0, 1, 0])])


# --- hyper-parameters -------------------------------------------------------------------------------------------------


def test_the_hyper_parameters_of_worlds_are_those_of_every_outcome():
    hyper = torch.tensor([[1.0], [2.0], [3.0], [10.0], [20.0], [30.0]])
    found = hypers.of_worlds(hyper, torch.tensor([2, 0, 0]), table_of(4, 1, outcomes=2))
    assert found.flatten().tolist() == [3.0, 1.0, 1.0, 30.0, 10.0, 10.0]


@pytest.fixture
def still(monkeypatch):
    """Hyper-parameters stay where they are, unless they are exchanged or another mode is visited."""
    visited = []

    def maximize_evidence(pairs, targets, starts, *, most, worlds=None):
        return starts + 1.0

    def propose_mode(pairs, targets, hyper, worlds, generator):
        visited.append(worlds.tolist())
        return hyper

    monkeypatch.setattr(fitting, "maximize_evidence", maximize_evidence)
    monkeypatch.setattr(fitting, "propose_mode", propose_mode)
    return visited


def alike(worlds):
    return torch.zeros(worlds, 7, dtype=torch.float64)


@pytest.mark.parametrize(("rows", "visits"), [(9, []), (10, [[0, 1, 2]]), (11, []), (70, [[70 // 5 % 3]]), (71, [])])
def test_other_modes_are_visited_every_fifth_row(still, rows, visits):
    table = table_of(rows, 2)
    hypers.relearn_hyper(table, table.inputs.nan_to_num(nan=0.5).expand(3, -1, -1), alike(3))
    assert still == visits


def test_many_rows_let_the_worlds_learn_in_turns(still):
    seen = []
    for rows in (64, 65, 66, 67, 68, 70, 75, 80):
        table = table_of(rows, 2)
        after = hypers.relearn_hyper(table, table.inputs.nan_to_num(nan=0.5).expand(3, -1, -1), alike(3))
        seen.append((after[:, 0] == 1).nonzero()[:, 0].tolist())
    assert seen[0] == [0, 1, 2]
    assert seen[1:] == [[65 // 5 % 3], [0], [1], [2], [14 % 3], [15 % 3], [16 % 3]]


def test_worlds_try_one_another_s_hyper_parameters(still):
    """One knows of the wave, the others take it for noise: after a few rows all know, however little they learn."""
    good = torch.tensor([[0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -7.0]], dtype=torch.float64)
    bad = torch.tensor([[-5.0, 0.0, -1.0, -1.0, -1.0, -1.0, 0.0]], dtype=torch.float64)
    hyper = torch.cat([good, bad.repeat(4, 1)])
    for rows in (21, 22, 23, 24, 26, 27, 28, 29):
        table = table_of(rows, 0)
        hyper = (hypers.relearn_hyper(table, table.inputs.expand(5, -1, -1), hyper) - 1.0).round(decimals=9)
    torch.testing.assert_close(hyper, good.expand(5, -1))


def test_those_of_a_very_large_table_stay_as_the_anchors_taught_them(still):
    table = table_of(257, 0)
    torch.testing.assert_close(hypers.relearn_hyper(table, table.inputs.expand(2, -1, -1), alike(2)), alike(2))


def test_known_errors_are_known_while_hyper_parameters_are_learned():
    """Outcomes of the same setting that differ by their errors are no reason for noise."""
    table = table_of(24, 0)
    pairs = torch.arange(24) // 2 * 2
    table = dataclasses.replace(table, inputs=table.inputs[pairs], targets=table.targets[..., pairs])
    noisy = dataclasses.replace(table, targets=table.targets + torch.tensor([0.7, -0.7] * 12, dtype=torch.float64))
    known = dataclasses.replace(noisy, errors=torch.full_like(noisy.targets, 0.49))
    for learn in (
        lambda one: hypers.search_hyper(one, one.inputs[None]),
        lambda one: hypers.improve_hyper(one, one.inputs[None], alike(1), steps=60),
        lambda one: hypers.relearn_hyper(one, one.inputs[None], alike(1)),
    ):
        assert learn(known)[0, -1] < learn(noisy)[0, -1] - 2
