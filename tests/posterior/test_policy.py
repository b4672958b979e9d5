"""When the method chooses its transform anew or restarts its chains, and what comes of it."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import bomi
from bomi import Categorical, Integer, Linear, Optimizer, Space, learning
from bomi.impute.table import MINIMUM_IMPROVEMENT
from bomi.impute.transform import Transform
from bomi.posterior import policy, starts
from bomi.posterior.imputer import Posterior, _log_evidence
from bomi.posterior.policy import RESTART_GAIN


def tell(optimizer, asked, outcome, lost=()):
    """An experiment that was asked for, some of whose values are lost."""
    actual = dict.fromkeys(lost) or {optimizer.space.names[0]: asked[0]}
    optimizer.tell(dict(zip(optimizer.space.names, asked, strict=True)), outcome, actual=actual)


def table_of(optimizer):
    return learning.table_of(optimizer.space, optimizer.objectives, optimizer.observations)


def since_improvement(optimizer):
    return table_of(optimizer).evaluations_since_improvement


def test_evaluations_are_counted_from_one_that_is_nearly_the_best():
    optimizer = Optimizer({"x": (0, 1)}, seed=0)
    outcomes = np.arange(10.0)  # 2.5 in the middle from their median
    for i, outcome in enumerate(outcomes):
        optimizer.tell({"x": i / 10}, outcome)
    assert since_improvement(optimizer) == 0  # nothing was asked for
    tell(optimizer, [0.5], 3.0)
    assert since_improvement(optimizer) == 0  # patience lasts
    tell(optimizer, [0.6], 4.0)
    assert since_improvement(optimizer) == 2
    tell(optimizer, [0.91], 9 + MINIMUM_IMPROVEMENT)
    assert since_improvement(optimizer) == 3  # hardly better
    tell(optimizer, [0.92], 9.5)
    assert since_improvement(optimizer) == 0  # much better
    optimizer.tell({"x": 0.3}, 2.0)
    assert since_improvement(optimizer) == 0  # one's own experiments do not count


def test_a_target_s_nearest_is_its_best():
    optimizer = Optimizer({"x": (0, 1)}, goal=("target", 5.0), seed=0)
    for i in range(11):
        optimizer.tell({"x": i / 10}, float(i))
    for outcome in (9.0, 1.0):
        tell(optimizer, [0.5], outcome)
    assert since_improvement(optimizer) == 13 - 1 - 5


def steep(optimizer, rows=14):
    """Outcomes that span orders of magnitude, some rows with a gap."""
    rng = np.random.default_rng(0)
    for i, x in enumerate(rng.random((rows, 2))):
        optimizer.tell({"a": x[0], "b": None if i % 3 == 0 else x[1]}, -math.exp(9 * x[0] + 2 * x[1]))


def test_a_running_process_restarts_ever_more_rarely(monkeypatch):
    restarted = []
    warped = Transform(warp=1.0, from_best=True)

    def restart(self, chains, table, rng):
        if policy.is_stuck(table):
            restarted.append(table.evaluations_since_improvement)
        return chains

    monkeypatch.setattr(Posterior, "_restarted", restart)
    monkeypatch.setattr(policy, "choose_transforms", lambda table, *_: policy.same_transforms(table, [warped]))
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, method=bomi.method("posterior", worlds=2), seed=0)
    steep(optimizer)
    optimizer.best()
    assert restarted == []  # nothing was asked for yet
    tell(optimizer, [0.0, 0.0], 1e6)
    for x in np.linspace(0.3, 0.9, 20):
        tell(optimizer, [x, x], -math.exp(11 * x), ["b"] if x > 0.6 else [])
        optimizer.best()
    assert restarted == [4, 8, 16]


def crowded(seed, parameters=4):
    """A sum over parameters whose rows crowd around its second-best peak, as those of a stuck campaign do."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer({f"x{j}": (0.0, 1.0) for j in range(parameters)}, seed=seed)

    def outcome(x):
        z = 10 * np.asarray(x) - 5
        return -(z**4 - 16 * z**2 + 5 * z).sum() / 2

    names = optimizer.space.names
    for _ in range(30):
        x = rng.random(parameters)
        gaps = rng.permutation(parameters)[: rng.integers(0, 4)]
        optimizer.tell({name: None if j in gaps else x[j] for j, name in enumerate(names)}, outcome(x))
    peak = np.array([0.7747] * 2 + [0.2096] * (parameters - 2))
    for k in range(40):
        asked = np.clip(peak + 0.03 * (k > 0) * rng.normal(size=parameters), 0, 1)
        lost = rng.permutation(parameters)[: rng.integers(1, 4)] if k % 2 else []
        actual = asked.copy()
        actual[lost] = np.clip(asked[lost] + rng.uniform(-0.3, 0.3, len(lost)), 0, 1)
        tell(optimizer, asked.tolist(), outcome(actual), [names[j] for j in lost])
    return optimizer, outcome


def test_a_stuck_campaign_is_restarted_on_the_identity_scale_and_sees_the_other_peaks():
    optimizer, outcome = crowded(2)
    places = [[0.2096, 0.2096], [0.7747, 0.2096], [0.2096, 0.7747]]  # of the first two; each better than the crowd
    settings = [dict(zip(optimizer.space.names, [*place, 0.2096, 0.2096], strict=True)) for place in places]
    truth = np.array([outcome(list(setting.values())) for setting in settings])
    table = table_of(optimizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Posterior, "_restarted", lambda self, chains, table, rng: chains)
        before = np.array([each.mean for each in optimizer.predict(settings)])
    chains = optimizer._fit.state
    assert chains.transforms[0].warp > 0
    rng = torch.Generator().manual_seed(learning.draw_seed(2, len(table)))
    found = Posterior()._restarted(chains, table, rng)
    assert found.transforms[0].warp == 0
    assert found.settled == len(table) + 2 * 4
    assert _log_evidence(found, table) > _log_evidence(chains, table) + RESTART_GAIN
    optimizer._fit = dataclasses.replace(optimizer._fit, state=found, completed=Posterior().completed(found))
    after = np.array([each.mean for each in optimizer.predict(settings)])
    assert np.abs(after - truth).mean() < 0.8 * np.abs(before - truth).mean()


def test_a_restart_keeps_what_was_recorded_and_the_constraints(monkeypatch):
    monkeypatch.setattr(starts, "RESTART_ROUNDS", 5)
    parts = {"a": (0, 1), "b": (0, 1), "c": (0, 1), "count": Integer(1, 4), "solvent": Categorical(["x", "y", "z"])}
    space = Space(parts, constraints=[Linear({"a": 1, "b": 1, "c": 1}, equals=1)])
    optimizer = Optimizer(space, seed=0)
    rng = np.random.default_rng(1)
    for i in range(16):
        a, b = rng.dirichlet([1, 1, 1])[:2]
        cells = {"a": a, "b": b, "c": 1 - a - b, "count": int(rng.integers(1, 5)), "solvent": "xyz"[rng.integers(3)]}
        lost = [["a", "b"], ["count"], ["solvent", "count"], []][i % 4]
        optimizer.tell(cells | dict.fromkeys(lost), a - b * b + 0.1 * cells["count"])
    table = table_of(optimizer)
    chains = Posterior()._slowly(table, policy.identity_transforms(table), torch.Generator().manual_seed(0))
    worlds, known = chains.inputs, ~table.inputs.isnan()
    assert len(worlds) == 5
    torch.testing.assert_close(worlds[:, known], table.inputs[known].expand(5, -1))
    assert space.holds(worlds.flatten(0, 1).numpy()).all()
    np.testing.assert_allclose(space.snap(worlds.numpy()), worlds.numpy(), atol=1e-9)


def test_a_restart_that_explains_less_is_not_taken():
    optimizer = Optimizer({"a": (0, 1), "b": (0, 1)}, seed=0)
    steep(optimizer, rows=20)
    for x in np.linspace(0.3, 0.9, 4):
        tell(optimizer, [x, 1 - x], -math.exp(9 * x + 2 * (1 - x)), ["b"])
    optimizer.best()
    chains = optimizer._fit.state
    assert since_improvement(optimizer) >= 4
    assert chains.transforms[0].warp > 0
    assert Posterior()._restarted(chains, table_of(optimizer), torch.Generator().manual_seed(0)) is chains
