"""How chains begin and how their hyper-parameters are learned: what is done, in which order, with how much noise."""

import dataclasses
import math

import torch

from bomi.impute.table import Table
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
        self.did, self.only, self.started = [], [], []
        own = {name: getattr(starts, name) for name in ("sweep", "inverse_of")}

        def sweep(codes, P, table, priors, hyper, rng, **options):
            self.did.append(("sweep", round(float(hyper[0, -1]), 3), options.get("step")))
            self.only.append(options.get("only"))
            return own["sweep"](codes, P, table, priors, hyper, rng, **options)

        def draw_hyper(table, inputs, hyper, rng, *, count=1):
            self.did.append(("draw", count))
            return hyper

        def start_hyper(table, inputs, worlds, rng):
            self.started.append((len(table), worlds))
            return self.hyper[:1].repeat(worlds, 1)

        self.inverted = []

        def inverse_of(table, hyper, inputs, *, only=None):
            self.inverted.append(None if only is None else only.tolist())
            return own["inverse_of"](table, hyper, inputs, only=only)

        self.hyper = torch.tensor([[0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -8.0]], dtype=torch.float64)
        for name, replaced in (("sweep", sweep), ("draw_hyper", draw_hyper), ("start_hyper", start_hyper)):
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
    assert record.started == [(20, 2)]
    first, *rest = record.did
    assert first == ("sweep", round(math.log(0.1), 3), 1.0)  # rows join one by one, by fresh draws
    assert record.inverted[0] == [False] * 4 + [True] * 20
    assert [one[0] for one in rest] == ["draw", "sweep"] * starts.COLD_ROUNDS + ["draw"]
    assert [one[1] for one in rest if one[0] == "sweep"] == cooling(starts.COLD_ROUNDS, starts.COLD_ROUNDS)


def test_a_cold_start_with_few_complete_rows_learns_on_the_way(monkeypatch):
    record = Record(monkeypatch)
    begun(starts.cold_start, table_of(23, 4))
    assert record.started == [(23, 2)]
    rounds = starts.COLD_ROUNDS + starts.MORE_ROUNDS
    assert [noise for what, noise, *_ in record.did[1:-1] if what == "sweep"] == cooling(rounds, starts.COLD_ROUNDS)
    assert [what for what, *_ in record.did[1:]] == ["draw", "sweep"] * rounds + ["draw"]


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
    assert record.started == [(9, 2)]
    assert after.shape == (2, 7)
    assert record.did[2:] == [("draw", 1), ("sweep", -8.0, None)] * starts.WARM_ROUNDS


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


def alike(worlds):
    return torch.zeros(worlds, 7, dtype=torch.float64)


def test_every_world_of_every_outcome_draws_its_own():
    table = table_of(20, 0, outcomes=2)
    inputs, rng = table.inputs.expand(3, -1, -1), torch.Generator().manual_seed(0)
    begun = hypers.start_hyper(table, table.inputs[None], 3, rng)
    assert begun.shape == (6, 7)
    after = hypers.draw_hyper(table, inputs, begun, rng, count=10)
    assert (after != begun).any(-1).all()
    assert len({tuple(row) for row in after.tolist()}) == 6


def test_those_of_a_very_large_table_stay_as_the_anchors_taught_them():
    table, rng = table_of(257, 0), torch.Generator().manual_seed(0)
    noise = 0.5 * torch.randn(257, generator=rng, dtype=torch.float64)  # so that a move would be accepted
    table = dataclasses.replace(table, targets=table.targets + noise)
    begun = hypers.start_hyper(table, table.inputs[None], 2, rng)
    after = hypers.draw_hyper(table, table.inputs.expand(2, -1, -1), begun, rng, count=3)
    assert torch.equal(after, begun)


def test_known_errors_are_known_while_hyper_parameters_are_learned():
    """Outcomes of the same setting that differ by their errors are no reason for noise."""
    table = table_of(24, 0)
    pairs = torch.arange(24) // 2 * 2
    table = dataclasses.replace(table, inputs=table.inputs[pairs], targets=table.targets[..., pairs])
    noisy = dataclasses.replace(table, targets=table.targets + torch.tensor([0.7, -0.7] * 12, dtype=torch.float64))
    known = dataclasses.replace(noisy, errors=torch.full_like(noisy.targets, 0.49))
    rng, inputs = torch.Generator().manual_seed(0), table.inputs.expand(20, -1, -1)
    for learn in (
        lambda one: hypers.start_hyper(one, one.inputs[None], 20, rng),
        lambda one: hypers.draw_hyper(one, inputs, alike(20), rng, count=20),
    ):
        assert learn(known)[:, -1].median() < learn(noisy)[:, -1].median() - 2
