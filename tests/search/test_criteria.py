"""Expected improvement under limits, against its formula with SciPy's normal distribution."""

import pytest
import torch
from scipy.stats import norm

from bomi.search.acquisition import infeasibility_penalty
from bomi.search.criteria import ExpectedImprovement
from bomi.search.outlook import Limit, Outlook


class Line:
    """A model of one world whose mean is a line of the first column, with a constant standard deviation."""

    def __init__(self, slope, sd):
        self.slope, self.sd = slope, sd

    def means(self, points):
        return self.slope * points[..., 0].reshape(1, -1)

    def moments(self, points):
        mean = self.means(points)
        return mean, torch.full_like(mean, self.sd**2)


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def outlook(rows, *most):
    limits = [Limit(Line(2.0, 0.3), one) for one in most]
    return Outlook.of([Line(1.0, 0.2)], [None], column(*rows)[None], None, limits)


def by_hand(x, incumbent, *most):
    z, kept = (x - incumbent) / 0.2, 1.0
    for one in most:
        kept *= norm.cdf((one - 2 * x) / 0.3)
    return 0.2 * (norm.pdf(z) + z * norm.cdf(z)) * kept


@pytest.mark.parametrize(
    ("rows", "most", "incumbent"),
    [
        ((0.1, 0.4, 0.9), (1.0,), 0.4),  # at 0.9 the limit is broken: 1.8 > 1
        ((0.1, 0.4, 0.9), (1.0, 0.5), 0.1),  # at 0.4 the second
        ((0.4, 0.9), (-1.0,), 0.4),  # nothing keeps it: the worst row is to be improved on
    ],
)
def test_improvement_counts_over_the_best_row_that_keeps_all_limits(rows, most, incumbent):
    score = ExpectedImprovement().score(outlook(rows, *most), t=1, parameters=1)
    found = score(column(0.3, 0.5, 0.8)).exp()
    expected = [by_hand(x, incumbent, *most) for x in (0.3, 0.5, 0.8)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)


def test_what_is_recommended_is_weighed_by_the_chance_to_keep_the_limits():
    found = outlook((0.1, 0.4, 0.9), 1.0).merits(column(0.2, 0.45, 0.8))[:, 0]
    kept = torch.tensor([norm.cdf((1 - 2 * x) / 0.3) for x in (0.2, 0.45, 0.8)])
    expected = kept * torch.tensor([0.2, 0.45, 0.8]) + (1 - kept) * 0.1 + infeasibility_penalty(kept)
    torch.testing.assert_close(found, expected)


def test_a_limit_is_kept_over_all_that_equipment_may_do():
    class Strays:
        def branches(self, asked):
            low, high = asked.clone(), asked + 0.4
            return torch.tensor([[[0.75], [0.25]]], dtype=torch.float64), torch.stack([low, high])[None]

    strayed = outlook((0.1, 0.4), 1.0).asking(Strays(), column())
    keeping = strayed.log_keeping(strayed.places(column(0.3))).exp()
    expected = 0.75 * norm.cdf((1 - 0.6) / 0.3) + 0.25 * norm.cdf((1 - 1.4) / 0.3)
    torch.testing.assert_close(keeping, torch.tensor([[expected]]))


def test_what_is_pending_and_expected_to_break_a_limit_is_no_incumbent():
    class Known(Line):
        inputs = torch.zeros(1, 1, 1)

        def condition_on(self, rows):
            return self

    limited = Outlook.of([Known(1.0, 0.2)], [None], column(0.1, 0.4)[None], None, [Limit(Known(2.0, 0.3), 1.0)])
    torch.testing.assert_close(
        limited.condition_on(column(0.45, 0.9)).tried[0, :, 0], column(0.1, 0.4, 0.45, 0.1)[:, 0]
    )
