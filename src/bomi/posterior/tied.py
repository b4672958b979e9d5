"""Gaps that share one value: it is drawn with the first of them, given the outcomes of all their rows.

    I      the m rows of a group, the leader's among them; its candidates are put into all of them
    A      (Q, n, n)   the inverse without these rows: P - P_.I P_II^-1 P_I.
    k      (Q, S, m, n)   covariances of the rows I, as each candidate makes them, with all rows

Their outcomes are normal with mean k A y and covariance C = K_II + noise - k A k^T. After the move, with V = k A - 1_I,
P' = A + V^T C^-1 V: what the sampler does for a row, for several at once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bomi.impute.table import Table
from bomi.model.additive import AdditiveMatern
from bomi.model.conditions import kernel_under
from bomi.model.gaussian_process import robust_cholesky
from bomi.model.kernels import cross
from bomi.posterior.codes import from_codes

LACKING = 1e9  # noise of an outcome that a row does not have: it says nothing


def follow(codes: Tensor, table: Table) -> Tensor:
    """Worlds in which every gap has the value of its group's first.  (Q, n, p) -> (Q, n, p)"""
    if table.leaders is None:
        return codes
    return codes.gather(1, table.leaders.expand(len(codes), -1, -1))


def led(table: Table, row: int) -> Tensor:
    """The rows with a gap that shares its value with one of this row, itself among them.  (m,)"""
    assert table.leaders is not None
    return (table.leaders == row).any(-1).nonzero()[:, 0]


def draw_shared(
    codes: Tensor,
    P: Tensor,
    y: Tensor,
    noise: Tensor,
    table: Table,
    hyper: Tensor,
    row: int,
    slots: Tensor,
    tried: Tensor,
    luck: Tensor,
) -> Tensor:
    """Pick candidates for the gaps of a row that leads others, changing `codes` and P in place.

    y, noise: (m Q, n); slots: (g,); tried: (Q, S, g); luck: (Q, S) -> log densities of the outcomes (Q, S)
    """
    leaders, rows = table.leaders, led(table, row)
    assert leaders is not None
    (Q, S), every = tried.shape[:2], torch.arange(len(codes))
    part = codes[:, None, rows].repeat(1, S, 1, 1)  # (Q, S, m, p)
    for slot, j in enumerate(slots.tolist()):
        part[:, :, leaders[rows, j] == row, j] = tried[:, :, slot, None]
    x, others = table.located(from_codes(table, part), rows), table.located(from_codes(table, codes))
    kernel = kernel_under(AdditiveMatern.over(table.space), table.space, table.conditions)
    weight, moves = torch.zeros_like(luck), []
    parts = zip(P.chunk(len(P) // Q), y.chunk(len(P) // Q), noise.chunk(len(P) // Q), hyper.chunk(len(P) // Q),
                ~table.outcomes.isnan(), strict=True)  # fmt: skip
    for own_P, own_y, own_noise, own_hyper, has in parts:
        theta = own_hyper[:, :-1]
        with torch.no_grad():
            k = cross(kernel, theta, x.flatten(1, 2), others)  # (Q, S m, n)
            within = cross(kernel, theta.repeat_interleave(S, 0), x.flatten(0, 1), x.flatten(0, 1).clone())
        block = own_P[:, rows][:, :, rows]
        inside = block.diagonal(dim1=-2, dim2=-1)
        block = block + torch.diag_embed(torch.where(inside > 0, 0.0, 1.0))  # rows that are not yet among them
        A = own_P - own_P[:, :, rows] @ torch.linalg.solve(block, own_P[:, rows])
        A[:, rows], A[:, :, rows] = 0.0, 0.0
        kA = (k @ A).unflatten(1, (S, -1))  # (Q, S, m, n)
        own = torch.where(has[rows], own_noise[:, rows], LACKING)
        C = within.unflatten(0, (Q, S)) - kA @ k.unflatten(1, (S, -1)).mT + torch.diag_embed(own)[:, None]
        L = robust_cholesky(C)
        apart = own_y[:, None, rows] - (kA @ own_y[:, None, :, None]).squeeze(-1)
        z = torch.linalg.solve_triangular(L, apart.unsqueeze(-1), upper=False).squeeze(-1)
        weight -= 0.5 * z.square().sum(-1) + L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        moves.append((own_P, A, kA, L))
    chosen = (weight + luck).argmax(-1)
    codes[:, rows] = part[every, chosen]
    for own_P, A, kA, L in moves:
        V = kA[every, chosen]  # (Q, m, n)
        V[:, torch.arange(len(rows)), rows] -= 1.0
        own_P.copy_(A + V.mT @ torch.cholesky_solve(V, L[every, chosen]))
    return weight
