"""What every way of dealing with gaps makes of a table: Q completed worlds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Completed:
    """Q completed worlds of a table."""

    inputs: Tensor  # (Q, n, d)
    targets: Tensor  # (n,) or (m, n), NaN where a row lacks an outcome
    rows: Tensor | None = None  # (n,) which rows of the table these are; None for all
    variances: Tensor | None = None  # (Q, n, d) of each input, for the surrogate over distributions
    planning: Tensor | None = None  # (d,) variance of a point asked for next, likewise
    hyper: Tensor | None = None  # (m Q, k + 1) log hyper-parameters and noise to start learning from, by outcome
    errors: Tensor | None = None  # like the targets: known variances

    def of(self, outcome: int) -> Completed:
        """The worlds of one outcome: of the rows that have it."""
        targets = torch.atleast_2d(self.targets)
        known = ~targets[outcome].isnan()
        return Completed(
            self.inputs[:, known],
            targets[outcome, known],
            None if self.rows is None else self.rows[known],
            None if self.variances is None else self.variances[:, known],
            self.planning,
            None if self.hyper is None else self.hyper.chunk(len(targets))[outcome],
            None if self.errors is None else torch.atleast_2d(self.errors)[outcome, known],
        )

    def to(self, device: str) -> Completed:
        """The same where its processes are to be computed."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **moved)
