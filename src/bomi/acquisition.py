"""How promising a point is: pure functions of the worlds' posterior moments.

mean, sd   (Q, m)  posterior mean and standard deviation of m points in each of Q worlds
score      (m,)    one number a point, larger is better
"""

from __future__ import annotations

import math

import torch
from botorch.acquisition.analytic import _log_ei_helper
from torch import Tensor


def beta(t: int, dim: int, *, delta: float = 0.1, a: float = 1.0, b: float = 1.0, r: float = 1.0) -> float:
    """The exploration schedule of GP-UCB on a box (Srinivas et al. 2010, theorem 2), t counted from 1.

    beta_t = 2 log(t^2 2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta)))
    """
    first = 2 * math.log(t**2 * 2 * math.pi**2 / (3 * delta))
    second = 2 * dim * math.log(t**2 * dim * b * r * math.sqrt(math.log(4 * dim * a / delta)))
    return max(first + second, 0.0)


def ucb(mean: Tensor, sd: Tensor, exploration: float) -> Tensor:
    """alpha_q(x) = mu_q(x) + exploration * sigma_q(x), in each world.  (Q, m)"""
    return mean + exploration * sd


def ucb_mi(mean: Tensor, sd: Tensor, exploration: float, disagreement: float) -> Tensor:
    """UCB-MI: alpha(x) = mean_q alpha_q(x) + disagreement * std_q alpha_q(x), std with Q - 1.  (m,)

    One world gives UCB exactly.
    """
    alpha = ucb(mean, sd, exploration)
    if len(alpha) == 1:
        return alpha[0]
    spread = alpha.var(0, correction=1).clamp_min(1e-20).sqrt()  # the clamp keeps the gradient finite at 0
    return alpha.mean(0) + disagreement * spread


def log_ei(mean: Tensor, sd: Tensor, incumbent: Tensor) -> Tensor:
    """log of the expected improvement averaged over worlds: log mean_q EI_q(x).  incumbent: (Q,) -> (m,)

    EI_q(x) = sigma_q h((mu_q - incumbent_q) / sigma_q), h(z) = phi(z) + z Phi(z), in logs throughout
    (Ament et al. 2023), so that it has a gradient where EI itself is zero.
    """
    z = (mean - incumbent[:, None]) / sd
    log_each = sd.log() + _log_ei_helper(z)
    return torch.logsumexp(log_each, 0) - math.log(len(mean))
