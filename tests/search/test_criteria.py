"""Expected improvement under limits, against its formula with SciPy's normal distribution."""

import torch
from scipy.stats import norm

from bomi.search.criteria import LimitedImprovement
from bomi.search.outlook import Outlook


class Line:
    """A model of one world whose mean is a line of the first column, with a constant standard deviation."""

    def __init__(self, slope, sd, rows):
        self.slope, self.sd, self.places = slope, sd, torch.tensor(rows, dtype=torch.float64)[None, :, None]

    def moments(self, points):
        mean = self.slope * points[..., 0].reshape(1, -1)
        return mean, torch.full_like(mean, self.sd**2)


def outlook(rows, aim):
    models = Line(1.0, 0.2, rows), Line(2.0, 0.3, rows)
    return Outlook(models, (None, aim), torch.zeros(1, len(rows), 2))


def by_hand(x, incumbent, aim):
    z = (x - incumbent) / 0.2
    return 0.2 * (norm.pdf(z) + z * norm.cdf(z)) * norm.cdf((aim - 2 * x) / 0.3)


def test_improvement_counts_over_the_best_row_that_keeps_the_limit():
    score = LimitedImprovement(1).score(outlook([0.1, 0.4, 0.9], aim=1.0), t=1, parameters=1)
    found = score(torch.tensor([[0.3], [0.5], [0.8]], dtype=torch.float64)).exp()
    expected = [by_hand(x, 0.4, 1.0) for x in (0.3, 0.5, 0.8)]  # at 0.9 the limit is broken: 1.8 > 1
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_without_a_row_that_keeps_it_the_worst_row_is_to_be_improved_on():
    score = LimitedImprovement(1).score(outlook([0.4, 0.9], aim=-1.0), t=1, parameters=1)
    found = score(torch.tensor([[0.3], [0.8]], dtype=torch.float64)).exp()
    expected = [by_hand(x, 0.4, -1.0) for x in (0.3, 0.8)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)
