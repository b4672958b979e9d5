"""Equipment is simulated, and what was learned of it is compared with how it was simulated."""

import numpy as np
import pytest
import torch

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.model.equipment import _width, learn_execution
from bomi.space import Categorical, Space

LINE = Space({"x": (0, 1)})


def learned(asked, done, space=LINE, seed=0):
    """From asked and done places, (n, d) or (n,) of a single parameter; done may have worlds before, (Q, n, d)."""
    asked, done = (torch.as_tensor(np.array(part), dtype=torch.float64) for part in (asked, done))
    if asked.ndim == 1:
        asked, done = asked[:, None], done.unsqueeze(-1)
    worlds = done if done.ndim == 3 else done[None]
    table = Table(space, worlds[0], asked, torch.zeros(len(asked), dtype=torch.float64))
    return learn_execution(table, Completed(worlds, table.targets), seed=seed)


def branches(execution, points):
    """(Q, B, m), (Q, B, m, d)"""
    chance, places = execution.branches(torch.as_tensor(np.array(points), dtype=torch.float64))
    assert chance.sum(1).numpy() == pytest.approx(1)
    assert bool((chance >= 0).all())
    return chance.numpy(), places.numpy()


def mean_of(execution, point):
    """What is done on average, of a single parameter."""
    chance, places = branches(execution, [[point]])
    return (chance * places[..., 0]).sum(1).mean()


def exact(execution, point):
    """How likely a request is carried out."""
    chance, places = branches(execution, [point])
    return chance[np.abs(places - np.array(point)).max(-1) < 0.01].sum() / len(chance)


def test_what_is_done_as_asked_is_no_execution_error():
    asked = np.linspace(0, 1, 20)
    assert learned(asked, asked) is None
    assert learned(asked, asked + 0.005) is None
    assert learned(np.full(20, np.nan), asked) is None
    assert learned(np.zeros(0), np.zeros(0)) is None


def test_one_error_does_not_make_equipment_bad():
    asked = np.linspace(0, 1, 20)
    assert exact(learned([0.5], [0.3]), [0.9]) > 0.4  # the first
    once = np.where(np.arange(20) == 10, asked - 0.2, asked)
    assert exact(learned(asked, once), [0.1]) > 0.9
    again = learned([*asked, asked[10]], [*once, once[10]])  # the same request, the same place
    assert exact(again, [0.1]) > 0.9
    assert exact(again, asked[10:11]) < 0.4


CONSTANT = "constant", lambda a, rng: a + rng.normal(0, 0.05, len(a))
GROWING = "growing", lambda a, rng: a + rng.normal(size=len(a)) * (0.01 + 0.12 * a)
SATURATING = "saturating", lambda a, rng: np.minimum(a, 0.7) + rng.normal(0, 0.015, len(a)) * (a > 0.7)
ONE_SIDED = "one-sided", lambda a, rng: a - np.where(rng.random(len(a)) < 0.4, rng.exponential(0.08, len(a)), 0)


@pytest.mark.parametrize("rows", [20, 50, 200])
@pytest.mark.parametrize("kind", [CONSTANT, GROWING, SATURATING, ONE_SIDED], ids=lambda kind: kind[0])
def test_intervals_of_what_will_be_done_hold_what_is(kind, rows):
    inside = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        asked, points = rng.random(rows), rng.uniform(0.75 if kind is SATURATING else 0, 1, 30)
        execution = learned(asked, kind[1](asked, rng), seed=seed)
        chance, places = branches(execution, points[:, None])
        for likely, done, true in zip(chance[0].T, places[0, ..., 0].T, kind[1](points, rng), strict=True):
            order = done.argsort()
            levels = likely[order].cumsum()
            low, high = done[order][np.searchsorted(levels, [0.05, 0.95]).clip(max=len(done) - 1)]
            inside.append(low - 1e-3 <= true <= high + 1e-3)
    assert 0.82 <= np.mean(inside) <= 0.97  # of 450, around 90 %


def test_a_lucky_stretch_is_not_taken_for_better_equipment():
    """Errors have one size everywhere, and small ones close together are chance; errors that grow are not."""
    widths = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        asked = np.concatenate([rng.random(25), rng.normal(0.75, 0.02, 8)])
        luck = rng.normal(size=33)
        widths.append([_width(asked, luck * size) for size in (0.1, 0.3 * asked.clip(0) ** 3)])
    same, growing = np.array(widths).T
    assert (same == 1).mean() > 0.8
    assert (growing == 1).mean() < 0.1


def test_the_side_and_the_size_are_found():
    rng = np.random.default_rng(0)
    asked = rng.random(50)
    execution = learned(asked, asked - rng.uniform(0.05, 0.15, 50))
    assert mean_of(execution, 0.5) == pytest.approx(0.4, abs=0.02)


def test_errors_that_grow_with_the_setting_are_small_where_they_are_small():
    rng = np.random.default_rng(1)
    asked = rng.random(100)
    execution = learned(asked, asked + rng.normal(size=100) * 0.15 * asked**2)

    def spread(point):
        chance, places = branches(execution, [[point]])
        return np.sqrt((chance * (places[..., 0] - point) ** 2).sum())

    assert spread(0.9) > 3 * spread(0.2)


def test_saturation_is_told_from_a_shift():
    asked = np.random.default_rng(2).random(40)
    execution = learned(asked, np.minimum(asked, 0.7))
    assert mean_of(execution, 0.98) == pytest.approx(0.7, abs=0.03)
    assert mean_of(execution, 0.8) == pytest.approx(0.7, abs=0.04)
    assert mean_of(execution, 0.3) == pytest.approx(0.3, abs=0.02)


def test_a_request_that_led_elsewhere_again_and_again_leads_there_whatever_does_not_matter():
    """As with a tree on the way: the goal matters, the depth of the hole does not."""
    space = Space({"x": (0, 1), "y": (0, 1), "depth": (0, 1)})
    rng = np.random.default_rng(3)
    asked = rng.random((40, 3)) * [0.6, 1, 1]
    asked[:6, :2] = 0.8 + 0.02 * rng.normal(size=(6, 2))
    done = asked.copy()
    done[:6, :2] = 0.6, 0.5
    execution = learned(asked, done, space)
    chance, places = branches(execution, [[0.8, 0.8, 0.123]])
    there = np.abs(places[0, :, 0] - [0.6, 0.5, 0.123]).max(-1) < 1e-9
    assert chance[0, there, 0].sum() > 0.7
    assert exact(execution, [0.3, 0.3, 0.5]) > 0.8


def test_remembered_places_have_the_spread_of_what_like_requests_led_to():
    rng = np.random.default_rng(0)
    asked = rng.random(60)
    beyond = asked > 0.7
    noisy = np.minimum(asked, 0.7) + rng.normal(0, 0.015, 60) * beyond
    moved = (learned(asked, noisy).pairs.done[0, :, 0] - noisy)[beyond]
    assert 0.004 < moved.std() < 0.02
    assert np.array_equal(learned(asked, np.minimum(asked, 0.7)).pairs.done[0, :, 0], np.minimum(asked, 0.7))


def test_whether_the_same_request_leads_to_the_same_place_is_learned_from_requests_made_again():
    """As with a tree on the way, or merely noise: the third request ends where the first two did, or it does not."""
    space = Space({"x": (0, 1), "y": (0, 1)})
    rng = np.random.default_rng(1)
    asked = np.concatenate([rng.random((30, 2)) * 0.6, np.full((3, 2), 0.8)])

    def at_the_tree(done):
        chance, places = branches(learned(asked, done, space), [[0.8, 0.8]])
        return chance[0, np.abs(places[0, :, 0] - 0.5).max(-1) < 0.02].sum()

    assert at_the_tree(np.concatenate([asked[:30], np.full((3, 2), 0.5)])) > 0.7
    noise = asked + rng.normal(0, 0.1, (33, 2))
    noise[-3:] = [[0.5, 0.5], [0.9, 0.7], [0.7, 1.0]]
    assert at_the_tree(noise) < 0.2


def test_parameters_stray_together_as_they_did():
    """Either both x and y stray, or z alone."""
    space = Space({"x": (0, 1), "y": (0, 1), "z": (0, 1)})
    rng = np.random.default_rng(4)
    asked, points = rng.random((60, 3)), rng.random((40, 3))
    failed = rng.choice(3, 60, p=[0.4, 0.3, 0.3])
    done = asked + np.array([[0, 0, 0], [0.1, -0.1, 0], [0, 0, 0.1]])[failed] * rng.uniform(0.8, 1.2, (60, 1))
    chance, places = branches(learned(asked, done, space), points)
    x, y, z = np.moveaxis(np.abs(places[0] - points) > 0.02, -1, 0)
    assert chance[0][x & y & ~z].sum() / 40 == pytest.approx((failed == 1).mean(), abs=0.1)
    assert chance[0][~x & ~y & z].sum() / 40 == pytest.approx((failed == 2).mean(), abs=0.1)
    assert chance[0][(x != y) | (x & z)].sum() / 40 < 0.02


def test_a_swapped_category():
    space = Space({"bath": Categorical(["oil", "water", "air"])})
    asked = np.eye(3)[np.arange(30) % 3]
    done = asked.copy()
    done[np.arange(30) % 6 == 0] = np.eye(3)[1]  # every second time that oil is asked, it is water
    chance, places = branches(learned(asked, done, space), np.eye(3))
    likely = (chance[..., None] * places).sum(1)[0]  # (asked, done)
    assert likely[0] == pytest.approx([0.5, 0.5, 0], abs=0.1)
    assert likely[1, 1] > 0.9
    assert likely[2, 2] > 0.9


def test_worlds_differ_in_what_they_say_of_a_gap():
    asked = np.full(10, 0.5)
    worlds = np.stack([np.full(10, 0.5), np.full(10, 0.3)])
    chance, places = branches(learned(asked, worlds), [[0.5]])
    done = (chance * places[..., 0]).sum(1)[:, 0]
    assert done[1] < done[0] - 0.05


def test_what_is_left_out_as_unlikely_makes_no_jump(monkeypatch):
    """A search would stop where a place begins to be remembered."""
    space = Space({"x": (0, 1), "y": (0, 1)})
    asked = np.concatenate([np.random.default_rng(1).random((30, 2)) * 0.6, np.full((3, 2), 0.8)])
    execution = learned(asked, np.concatenate([asked[:30], np.full((3, 2), 0.5)]), space)

    def expected():
        each = [branches(execution, [[x, 0.8]]) for x in np.linspace(0.2, 0.8, 200)]
        return np.array([(chance * places[..., 0]).sum(1).mean() for chance, places in each])

    few = expected()
    monkeypatch.setattr("bomi.model.execution.NEGLIGIBLE", 0.0)
    assert few == pytest.approx(expected(), abs=1e-5)


def test_gradients_are_those_of_differences():
    rng = np.random.default_rng(5)
    asked = rng.random((30, 2))
    execution = learned(asked, asked + rng.normal(size=(30, 2)) * 0.1 * asked, Space({"x": (0, 1), "y": (0, 1)}))

    def value(points):
        chance, places = execution.branches(points)
        return (chance * places.square().sum(-1)).sum(1).mean(0)

    points = torch.tensor([[0.31, 0.52], [0.83, 0.11]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(value, (points,), eps=1e-7, atol=1e-5)


def test_without_one_error_the_others_stay():
    space = Space({"x": (0, 1), "y": (0, 1)})
    asked = np.random.default_rng(6).random((30, 2))
    execution = learned(asked, asked + 0.1, space).exactly("x")
    chance, places = branches(execution, [[0.5, 0.5]])
    assert (chance[..., None] * places).sum(1)[0, 0] == pytest.approx([0.5, 0.6], abs=0.02)
