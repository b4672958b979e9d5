"""Every imputer keeps the contract: its states are immutable, rows are known by their keys, recorded cells stay."""

import dataclasses

import pytest
import torch

from bomi import METHODS
from bomi.data.observations import Row
from bomi.impute.completed import Completed, Explained, UncertainInputs
from bomi.impute.table import Table
from bomi.impute.transform import Transform
from bomi.posterior.imputer import Posterior
from bomi.space import Integer, Space
from bomi.space.cells import Normal

SPACE = Space({"a": (0, 1), "n": Integer(0, 4), "q": ["x", "y"]})
IMPUTERS = {name: row.imputer for name, row in METHODS.items() if name != "random"} | {"posterior": Posterior(worlds=3)}


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def table_of(rows, *, outcomes=1):
    """Rows with gaps in all kinds of parameters; each is known by its number."""
    cells, targets = [], []
    for k in rows:
        a, n, q = 0.37 * k % 1, k % 5, "xy"[k % 2]
        recorded = {"a": a, "n": n, "q": q}
        if k % 3 == 1:
            recorded["anq"[k // 3 % 3]] = None
        if k % 8 == 3:
            recorded["a"] = Normal(a, 0.1)
        cells.append(Row(recorded, {}, {"a": a, "n": n, "q": q} if k % 2 else {}))
        targets.append([a + 0.3 * n + (q == "x"), -a][:outcomes])
    table = Table.of(SPACE, cells, torch.tensor(targets, dtype=torch.float64).T.contiguous())
    return dataclasses.replace(table, aims=(None,) * outcomes, keys=tuple(rows))


def tensors(value):
    """All tensors of a state, copied, by where they are."""
    if isinstance(value, torch.Tensor):
        return {"": value.clone()}
    if dataclasses.is_dataclass(value):
        parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, tuple):
        parts = [(str(i), part) for i, part in enumerate(value)]
    else:
        return {}
    return {f"{name}.{path}": one for name, part in parts for path, one in tensors(part).items()}


def assert_same(before, after):
    assert before.keys() == after.keys()
    for path, one in before.items():
        torch.testing.assert_close(one, after[path], atol=0, rtol=0, equal_nan=True, msg=path)


def assert_completes(completed, table):
    """Recorded cells are as they were, gaps have admissible values, and the outcomes are on a stated scale."""
    rows = torch.arange(len(table)) if completed.rows is None else completed.rows
    inputs, kept = table.inputs[rows], completed.inputs
    assert kept.ndim == 3
    assert not kept.isnan().any()
    recorded = ~inputs.isnan()
    assert (kept[:, recorded] == inputs[recorded]).all()
    if not isinstance(completed, UncertainInputs):  # of these they are means
        torch.testing.assert_close(torch.from_numpy(SPACE.snap(kept.numpy())), kept)
    for transform, outcomes, targets in zip(
        completed.transforms, table.outcomes[:, rows], torch.atleast_2d(completed.targets), strict=True
    ):
        torch.testing.assert_close(transform.to_targets(outcomes), targets)


@pytest.mark.parametrize("outcomes", [1, 2])
@pytest.mark.parametrize("name", IMPUTERS)
def test_a_state_goes_from_table_to_table_and_is_never_changed(name, outcomes):
    imputer = IMPUTERS[name]
    first = table_of([*range(2, 14)], outcomes=outcomes)
    second = table_of([13, *range(4, 12), 20, 22], outcomes=outcomes)  # rows gone, come and in another order
    state = imputer.init(first, rng())
    before = tensors(state)
    assert_completes(imputer.completed(state), first)
    after = imputer.step(state, second, rng(1))
    assert_same(before, tensors(state))
    assert_completes(imputer.completed(after), second)
    kept = tensors(after)
    drawn = imputer.draws(after, 7, rng(2))
    assert_completes(drawn, second)
    assert_same(kept, tensors(after))
    assert_same(before, tensors(state))
    assert isinstance(drawn, imputer.yields if len(drawn.inputs) else Completed)
    again = imputer.step(state, second, rng(1))  # from the same state by the same chance
    assert_same(kept, tensors(again))


def test_chains_find_their_rows_by_key_and_not_by_place():
    """Rows in another order, and one more before them."""
    imputer, rows = IMPUTERS["posterior"], list(range(2, 18))
    state = imputer.init(table_of(rows), rng())
    turned = rows[::-1]
    found, _ = state.continued(table_of(turned))
    assert torch.equal(found, state.inputs.flip(1))
    assert state.continued(table_of([99, *rows]))[0][:, 0].isnan().all()


def test_a_stateless_imputer_scales_each_outcome_and_its_aim():
    table = dataclasses.replace(table_of(range(2, 8), outcomes=2), aims=(None, -0.5))
    completed = IMPUTERS["mean"].completed(IMPUTERS["mean"].init(table, rng()))
    targets = torch.atleast_2d(completed.targets)
    assert targets.amin(-1).tolist() == [0, 0]
    assert targets.amax(-1).tolist() == pytest.approx([1, 1])
    low, high = table.outcomes[1].min(), table.outcomes[1].max()
    assert completed.aims[0] is None
    assert completed.aims[1] == pytest.approx(float((-0.5 - low) / (high - low)))


# --- worlds and tables ------------------------------------------------------------------------------------------------


def worlds_of(kind, **more):
    targets = torch.tensor([[1.0, 2.0, torch.nan, 4.0], [torch.nan, 20.0, 30.0, 40.0]], dtype=torch.float64)
    return kind(
        torch.arange(24.0, dtype=torch.float64).reshape(3, 4, 2),
        targets,
        rows=torch.tensor([5, 6, 7, 8]),
        errors=targets / 10,
        transforms=(Transform(1.0), Transform(2.0)),
        aims=(None, 3.0),
        **more,
    )


def test_one_outcome_of_the_worlds_has_its_own_rows_and_processes():
    hyper = torch.arange(6.0)[:, None]
    found = worlds_of(Explained, hyper=hyper).of(1)
    assert found.targets.tolist() == [20, 30, 40]
    assert found.rows.tolist() == [6, 7, 8]
    assert found.errors.tolist() == [2, 3, 4]
    assert found.inputs[:, 0, 0].tolist() == [2, 10, 18]
    assert (found.transforms, found.aims) == ((Transform(2.0),), (3.0,))
    assert found.hyper.flatten().tolist() == [3, 4, 5]
    variances = worlds_of(Completed).inputs / 100
    uncertain = worlds_of(UncertainInputs, variances=variances, planning=torch.zeros(2)).of(0)
    assert torch.equal(uncertain.variances, variances[:, [0, 1, 3]])


def test_some_worlds_have_their_own_processes_of_every_outcome():
    some = torch.tensor([2, 0])
    found = worlds_of(Explained, hyper=torch.arange(6.0)[:, None]).select(some)
    assert found.inputs[:, 0, 0].tolist() == [16, 0]
    assert found.hyper.flatten().tolist() == [2, 0, 5, 3]
    variances = worlds_of(Completed).inputs / 100
    uncertain = worlds_of(UncertainInputs, variances=variances, planning=torch.zeros(2)).select(some)
    assert torch.equal(uncertain.variances, variances[some])


def test_some_rows_of_a_table_keep_what_belongs_to_them():
    table = dataclasses.replace(table_of(range(2, 14), outcomes=2), errors=torch.arange(24.0).reshape(2, 12))
    some = torch.tensor([k % 2 == 1 for k in table.keys])
    part = table.select(some)
    assert part.keys == (3, 5, 7, 9, 11, 13)
    assert [(part.keys[one.row], one.parameter) for one in part.stated] == [(3, 0), (11, 0)]
    assert torch.equal(part.outcomes, table.outcomes[:, some])
    assert torch.equal(part.errors, table.errors[:, some])
    torch.testing.assert_close(part.asked, table.asked[some], equal_nan=True)


def test_a_known_error_is_scaled_with_its_outcome():
    table = dataclasses.replace(table_of(range(2, 8)), errors=torch.full((1, 6), 0.04, dtype=torch.float64))
    transform = Transform(0.3, 1.4, 0.2, 2.0, warp=1.5)
    found = table.transformed([transform]).errors
    (y,), step = table.outcomes, 1e-6
    slope = (transform.to_targets(y + step) - transform.to_targets(y - step)) / (2 * step)
    torch.testing.assert_close(found[0], 0.04 * slope.square(), atol=1e-8, rtol=1e-6)
