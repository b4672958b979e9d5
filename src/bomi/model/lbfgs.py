"""L-BFGS within bounds, from many starts side by side.

BoTorch does not document its batched L-BFGS-B. So this is the only place that imports it, a test compares it with
SciPy's, and pyproject.toml allows no later version of BoTorch than those that were tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from numpy.typing import NDArray
from torch import Tensor


def minimize(
    loss: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    starts: Tensor,
    low: Tensor,
    high: Tensor,
    *,
    most: int,
    tolerance: float,
) -> tuple[Tensor, Tensor]:
    """What each start leads to in at most so many steps, and the loss there.  (r, d), (d,), (d,) -> (r, d), (r,)

    loss: the values and gradients at points that come from some of the starts.  (b, d), (b,) -> (b,), (b, d)
    tolerance: by which share the loss has to fall for the search to go on
    """

    def on_arrays(
        points: NDArray[np.float64], batch_indices: list[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, gradient = loss(torch.from_numpy(points), torch.tensor(batch_indices))
        return value.cpu().numpy(), gradient.cpu().numpy()

    found, values, _ = fmin_l_bfgs_b_batched(
        on_arrays,
        starts.clamp(low, high).numpy(),
        bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
        maxiter=most,
        factr=None,
        ftol=tolerance,
        pass_batch_indices=True,
    )
    return torch.from_numpy(np.asarray(found)), torch.as_tensor(np.asarray(values))
