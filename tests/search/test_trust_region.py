"""When a suggestion has to stay near the best row, and around which point."""

import dataclasses
import math

import pytest
import torch

from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.search.strategy import BestOf, MultiStart
from bomi.search.trust_region import Region, TrustRegion
from bomi.space import Space

SPACE = Space({"a": (0, 1), "b": (0, 1)})


def stuck(outcomes=(1.0, 9.0, 2.0, 3.0, 1.5, 2.5), *, aim=None):
    """Six rows that were asked for; since the second, patience has run out. Three worlds that differ in it."""
    X = torch.linspace(0, 1, 12, dtype=torch.float64).reshape(6, 2)
    targets = torch.tensor(outcomes, dtype=torch.float64)
    worlds = X.repeat(3, 1, 1)
    worlds[:, 1] = torch.tensor([[0.1, 0.2], [0.3, 0.4], [-0.5, 1.6]], dtype=torch.float64)
    return Table(SPACE, X, X, targets, aims=(aim,)), Completed(worlds, targets, aims=(aim,))


def test_every_second_suggestion_of_a_stuck_table_stays_near_the_best_row_of_one_world_after_another():
    table, completed = stuck()
    assert table.out_of_patience
    found = [TrustRegion(0.07).region(table, completed, t) for t in range(1, 9)]
    assert found[::2] == [None] * 4
    assert [one.radius for one in found[1::2]] == [0.07] * 4
    centers = [one.center.tolist() for one in found[1::2]]
    assert centers == [[0.3, 0.4], [0.0, 1.0], [0.1, 0.2], [0.3, 0.4]]  # inside the cube


def test_a_table_that_is_not_stuck_is_searched_everywhere():
    table, completed = stuck((1.0, 2.0, 3.0, 9.0, 1.5, 2.5))
    assert not table.out_of_patience
    assert [TrustRegion().region(table, completed, t) for t in range(1, 5)] == [None] * 4


def test_the_best_row_is_the_nearest_to_an_aim():
    table, completed = stuck((7.0, 2.0, 9.0, 8.0, -4.0, 7.5), aim=2.1)
    region = TrustRegion().region(table, completed, 2)
    assert region.center.tolist() == [0.3, 0.4]


def test_outcomes_that_are_all_alike_have_no_best_row():
    table, completed = stuck((1.0,) * 6)
    assert table.out_of_patience
    assert TrustRegion().region(table, completed, 2) is None


def test_a_search_has_the_region_of_its_trust_region():
    table, completed = stuck()
    assert MultiStart().region(table, completed, 2) is None
    assert isinstance(MultiStart(TrustRegion()).region(table, completed, 2), Region)
    assert BestOf().region(table, completed, 2) is None


@pytest.mark.parametrize(
    ("outcomes", "since"),
    [
        ((9.0, 1.0, 2.0, 3.0, 1.5, 2.5), 5),
        ((1.0, 2.0, 3.0, 1.5, 2.5, 9.0), 0),
        ((9.0, 1.0, 2.0, 3.0, 1.5, 9.02), 5),  # better by less than the minimum improvement: 0.02 of 1.25
        ((9.0, 1.0, 2.0, 3.0, 1.5, 9.03), 0),
        ((math.nan, 9.0, 2.0, 3.0, 1.5, math.nan), 4),
    ],
)
def test_evaluations_are_counted_since_the_first_that_is_nearly_the_best(outcomes, since):
    table, _ = stuck(outcomes)
    assert table.evaluations_since_improvement == since
    assert table.patience == 4
    assert table.out_of_patience == (since >= 4)


def test_experiments_of_one_s_own_do_not_count():
    table, _ = stuck()
    asked = table.asked.clone()
    for row, since in ((0, 4), (1, 4), (2, 0), (5, 0)):  # of the last four all must have been asked for
        own = asked.clone()
        own[row] = torch.nan
        assert dataclasses.replace(table, asked=own).evaluations_since_improvement == since
