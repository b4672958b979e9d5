"""The imputers as scikit-learn estimators: its own checks, and what each must fill."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (without it there is none)
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bomi import BomiError
from bomi.integrations.sklearn import MatrixFactorizationImputer, ModeImputer, PosteriorImputer

IMPUTERS = [
    ModeImputer(),
    MatrixFactorizationImputer(sweeps=5, random_state=0),
    PosteriorImputer(worlds=2, random_state=0),
]


@parametrize_with_checks(IMPUTERS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def together(n=60, seed=0):
    """Columns that move together, with a fifth of the values blanked."""
    rng = np.random.default_rng(seed)
    a = rng.random(n)
    whole = np.stack([10 * a, 5 - 3 * a + 0.1 * rng.normal(size=n), 100 + 20 * a + rng.normal(size=n)], 1)
    X = whole.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(1)] = whole[np.isnan(X).all(1)]
    return X, whole, a


@pytest.mark.parametrize("imputer", IMPUTERS, ids=lambda imputer: type(imputer).__name__)
def test_gaps_alone_are_filled_and_a_row_does_not_depend_on_the_others(imputer):
    X, _, y = together()
    imputer.fit(X[:40], y[:40])
    filled = imputer.transform(X[40:])
    known = ~np.isnan(X[40:])
    assert np.isfinite(filled).all()
    assert np.array_equal(filled[known], X[40:][known])
    one_by_one = np.concatenate([imputer.transform(row[None]) for row in X[40:]])
    np.testing.assert_allclose(one_by_one, filled, rtol=1e-9)
    low, high = np.nanmin(X[:40], 0), np.nanmax(X[:40], 0)
    gaps = np.where(known, (low + high) / 2, filled)
    assert ((gaps >= low - 1e-9) & (gaps <= high + 1e-9)).all()
    assert imputer.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "imputer", [MatrixFactorizationImputer(random_state=0), PosteriorImputer(random_state=0)], ids=["bpmf", "posterior"]
)
def test_what_the_other_columns_say_is_used(imputer):
    X, whole, y = together()
    gaps = np.isnan(X[40:])
    spans = np.ptp(whole, 0)

    def error(filled):
        return np.sqrt(np.mean(((filled - whole[40:]) / spans)[gaps] ** 2))

    plain = SimpleImputer().fit(X[:40])
    assert error(imputer.fit(X[:40], y[:40]).transform(X[40:])) < 0.6 * error(plain.transform(X[40:]))


def test_the_mode_is_the_peak_of_the_density():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(3, 0.2, 200), rng.normal(8, 0.2, 50)])[:, None]
    assert ModeImputer().fit(X).transform([[np.nan]]) == pytest.approx(3, abs=0.2)


def test_the_outcome_tells_what_a_gap_was():
    """y = x exactly, and nothing else says anything of x: only the outcome can."""
    rng = np.random.default_rng(0)
    x = rng.random(30)
    X = np.stack([x, rng.random(30)], 1)
    X[:5, 0] = np.nan
    imputer = PosteriorImputer(random_state=0)
    filled = imputer.fit_transform(X, x)
    assert np.abs(filled[:5, 0] - x[:5]).max() < 0.1
    assert np.abs(np.nanmean(X[:, 0]) - x[:5]).max() > 0.3
    assert imputer.worlds_.shape == (100, 30, 2)
    np.testing.assert_allclose(imputer.worlds_.mean(0), filled, atol=0.05)
    np.testing.assert_allclose(imputer.transform(X)[:5, 0], np.nanmean(X[:, 0]), atol=0.15)  # without it, the middle


def test_a_column_without_a_value_is_filled_with_zero_and_a_constant_with_itself():
    X = np.array([[np.nan, 4.0, 1.0], [np.nan, np.nan, 2.0], [np.nan, 4.0, 3.0], [np.nan, 4.0, np.nan]])
    for imputer in IMPUTERS[::2]:
        filled = imputer.fit(X, [1.0, 2.0, 3.0, 4.0]).transform(X)
        np.testing.assert_allclose(filled[:, 0], 0, atol=1e-2)
        np.testing.assert_allclose(filled[:, 1], 4, atol=1e-2)


def test_it_is_part_of_a_pipeline():
    X, _, y = together()
    for imputer in IMPUTERS:
        scores = cross_val_score(make_pipeline(imputer, LinearRegression()), X, y, cv=3)
        assert scores.mean() > 0.6


@pytest.mark.parametrize("kind", [str, object, bool])
def test_labels_of_classes_are_an_outcome_too(kind):
    """Class "b" has large values, and nothing else says so."""
    rng = np.random.default_rng(0)
    large = rng.random(60) < 0.5
    X = np.stack([large + 0.1 * rng.normal(size=60), rng.random(60)], 1)
    truth = X[:10, 0].copy()
    X[:10, 0] = np.nan
    y = large if kind is bool else np.where(large, "b", "a").astype(kind)
    assert np.abs(PosteriorImputer(random_state=0).fit_transform(X, y)[:10, 0] - truth).max() < 0.4
    pipeline = make_pipeline(PosteriorImputer(random_state=0), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3, error_score="raise").mean() > 0.8
    assert np.isfinite(PosteriorImputer().fit_transform(X, y[[0] * 60])).all()  # one class
    with pytest.raises(ValueError, match="label type"):
        PosteriorImputer().fit(X, np.array([None, *y[1:]], dtype=object))


def test_a_random_state_repeats():
    X, _, y = together()
    for kind, drawn in ((MatrixFactorizationImputer, "fit_transform"), (PosteriorImputer, "worlds_")):

        def found(seed, kind=kind, drawn=drawn):
            imputer = kind(random_state=seed)
            filled = imputer.fit_transform(X, y)
            return filled if drawn == "fit_transform" else imputer.worlds_

        assert np.array_equal(found(3), found(3))
        assert not np.array_equal(found(3), found(4))


def test_draws_cover_what_was_blanked_as_often_as_they_say():
    X, y = load_diabetes(return_X_y=True)
    gaps = np.random.default_rng(0).random(X.shape) < 0.15
    imputer = PosteriorImputer(random_state=0)
    filled = imputer.fit_transform(np.where(gaps, np.nan, X), y)
    linear = IterativeImputer(random_state=0).fit_transform(np.column_stack([np.where(gaps, np.nan, X), y]))[:, :-1]
    assert np.std((filled - X)[gaps]) < 1.05 * np.std((linear - X)[gaps])
    low, high = np.quantile(imputer.worlds_, [0.05, 0.95], axis=0)
    assert 0.85 <= ((low <= X) & (high >= X))[gaps].mean() <= 0.95


def test_settings_are_checked():
    X, _, y = together()
    with pytest.raises(BomiError, match="worlds"):
        PosteriorImputer(worlds=0).fit(X, y)
