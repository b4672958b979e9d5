"""scikit-learn: bomi's imputers for a Pipeline, as far as scikit-learn has none of its own.

For the methods `mean` and `knn` use scikit-learn's `SimpleImputer` and `KNNImputer`; `drop` and `suggest` fill nothing.
All columns are numbers, NaN is a gap, and a column without any value is filled with 0.

    X  (n, d) the table      unit  (n, d) the same with each column's range as [0, 1]      Q draws
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bomi.errors import MethodError
from bomi.impute import matrix_factorization
from bomi.impute.matrix_factorization import MatrixFactorization, Prior
from bomi.impute.simple import mode
from bomi.posterior.copula import Columns
from bomi.space import Array, Categorical, Parameter, Real


class _Imputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the imputers share: they keep the columns' ranges and fill only gaps."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table; `y` is not used."""
        self._learn(self._read(X, reset=True))
        return self

    def transform(self, X: Any) -> Array:
        """The table with its gaps filled."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        gaps = np.isnan(table)
        if not gaps.any():
            return table
        unit = (table - self.low_) / self.span_
        return np.asarray(np.where(gaps, self.low_ + self.span_ * np.clip(self._fill(unit), 0, 1), table))

    def _read(self, X: Any, *, reset: bool) -> Array:
        return np.array(validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"))

    def _unit(self, X: Array) -> Array:
        """The table in the unit cube of its own ranges, which are stored."""
        nothing = np.isnan(X).all(0)
        known = np.where(nothing, 0.0, X)
        low, high = np.nanmin(known, 0), np.nanmax(known, 0)
        self.span_ = np.where(high > low, high - low, 1.0)
        self.low_ = np.where(high > low, low, low - 0.5)  # a constant is in the middle of its range
        return np.where(nothing, 0.5, (X - self.low_) / self.span_)

    @abstractmethod
    def _learn(self, X: Array) -> None: ...

    @abstractmethod
    def _fill(self, unit: Array) -> Array: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ModeImputer(_Imputer):
    """A gap is filled with the mode of its column: the peak of a kernel density estimate."""

    def _learn(self, X: Array) -> None:
        unit = self._unit(X)
        self.modes_ = np.array([mode(column[~np.isnan(column), None], discrete=False)[0] for column in unit.T])

    def _fill(self, unit: Array) -> Array:
        return np.broadcast_to(self.modes_, unit.shape)


class MatrixFactorizationImputer(_Imputer):
    """A gap is filled by Bayesian matrix factorization (BPMF; Salakhutdinov and Mnih 2008), averaged over chains.

    `fit` draws the factors of the columns. The factor of a row, known or new, is then its mean given the values that
    the row has. The settings are those of the method `bomi`.
    """

    def __init__(
        self,
        *,
        worlds: int = 5,
        rank: int = 15,
        noise: float = 0.01,
        sweeps: int = 40,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.worlds = worlds
        self.rank = rank
        self.noise = noise
        self.sweeps = sweeps
        self.random_state = random_state

    def _learn(self, X: Array) -> None:
        MatrixFactorization(self.worlds, self.rank, self.noise, self.sweeps)  # checks the settings
        self._prior = Prior(rank=self.rank, noise=self.noise)
        self._chains = matrix_factorization.run_chains(
            torch.from_numpy(self._unit(X)),
            chains=self.worlds,
            prior=self._prior,
            sweeps=self.sweeps,
            generator=_generator(self.random_state),
        )

    def _fill(self, unit: Array) -> Array:
        R = torch.from_numpy(unit).expand(self.worlds, *unit.shape)
        U = matrix_factorization.draw_factors(
            self._chains.V, self._chains.row_hyper, R, ~R.isnan(), self._prior, generator=None
        )
        return (U @ self._chains.V.mT).mean(0).numpy()


class PosteriorImputer(_Imputer):
    """A gap is filled with its mean given the row's other columns and its outcome y, which is one column more.

    An outcome is a number; texts and booleans are the labels of classes.
    What the columns say of each other is learned as the method `posterior` does it, by a sparse regression for each.
    `fit_transform(X, y)` uses the outcomes of a table; draws of its gaps are kept in `worlds_` (Q, n, d), for intervals
    or to go on with each of them. `transform` is for rows whose outcome is not known.
    """

    def __init__(self, *, worlds: int = 100, random_state: int | np.random.RandomState | None = None) -> None:
        self.worlds = worlds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table and its outcomes, which are required."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """The table with its gaps filled, given its outcomes."""
        if not isinstance(self.worlds, int) or self.worlds < 1:
            raise MethodError(f"`worlds` must be a whole number from 1, but got {self.worlds!r}")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        outcome, of_outcome = _outcome(y)
        unit = np.column_stack([self._unit(X), outcome])
        codes = torch.from_numpy(unit)
        self._columns = Columns.of(codes, [*[Real(0, 1)] * X.shape[1], of_outcome])
        gaps = self._columns.gaps(codes)
        drawn = np.tile(unit, (self.worlds, 1, 1))
        drawn[:, np.isnan(unit)] = gaps.draw(self.worlds, _generator(self.random_state)).numpy()
        self.worlds_ = np.where(np.isnan(X), self.low_ + self.span_ * drawn[..., :-1], X)
        unit[np.isnan(unit)] = gaps.means().numpy()
        return np.asarray(np.where(np.isnan(X), self.low_ + self.span_ * unit[:, :-1], X))

    def _fill(self, unit: Array) -> Array:
        codes = np.column_stack([unit, np.full(len(unit), np.nan)])
        codes[np.isnan(codes)] = self._columns.gaps(torch.from_numpy(codes)).means().numpy()
        return codes[:, :-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _outcome(y: Any) -> tuple[Array, Parameter]:
    """The outcomes as codes, and what kind of parameter they would be.  (n,)"""
    y = np.array(y.tolist())  # of objects, what they are
    if y.dtype.kind in "iuf":
        return (y - y.min()) / (np.ptp(y) or 1.0), Real(0, 1)
    check_classification_targets(y)
    labels, codes = np.unique(y, return_inverse=True)
    return codes.astype(float), Categorical(range(max(len(labels), 2)))  # which is the least that it takes


def _generator(random_state: Any) -> torch.Generator:
    seed = int(check_random_state(random_state).randint(2**31))
    return torch.Generator().manual_seed(seed)
