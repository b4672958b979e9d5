"""Descriptors of categories: distances by hand, blanks against an average over all fillings, errors in one line."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi.errors import SpaceError
from bomi.space.descriptors import APART, Descriptors

SOLVENTS = ["water", "ethanol", "hexane", "DMSO"]
TABLE = pd.DataFrame(
    {"polarity": [80.0, 24.0, 2.0, 47.0], "boiling": [100.0, 78.0, 69.0, 189.0]}, index=SOLVENTS
)  # fmt: skip


def by_hand(z: np.ndarray) -> np.ndarray:
    """Distances of complete descriptors, by the definition.  (v, k) -> (v, v)"""
    z = (z - z.min(0)) / (z.max(0) - z.min(0))
    squares = np.array([[((a - b) ** 2).sum() for a in z] for b in z])
    return np.sqrt(np.where(squares > 0, (1 - APART) * squares / squares.max() + APART, 0))


def test_distances_are_those_of_the_scaled_numbers() -> None:
    made = bomi.Categorical(SOLVENTS, descriptors=TABLE).descriptors
    np.testing.assert_allclose(made.distances, by_hand(TABLE.to_numpy()), atol=1e-12)
    assert made.distances.max() == pytest.approx(1)


def test_one_descriptor_evenly_apart_is_an_order() -> None:
    made = Descriptors.of({level: {"n": k} for k, level in enumerate("abcde")}, list("abcde"))
    ranks = np.abs(np.arange(5)[:, None] - np.arange(5)) / 4
    np.testing.assert_allclose(made.squares / made.squares.max(), ranks**2, atol=1e-12)


def test_a_blank_may_be_any_of_the_other_values() -> None:
    z = TABLE.to_numpy()
    rows = TABLE.copy()
    rows.loc["ethanol", "polarity"] = np.nan
    rows.loc["DMSO", "polarity"] = np.nan
    made = Descriptors.of(rows, SOLVENTS)
    known = [z[0, 0], z[2, 0]]
    low, high = min(known), max(known)
    boiling = (z[:, 1] - z[:, 1].min()) / (z[:, 1].max() - z[:, 1].min())
    average = np.zeros((4, 4))
    fillings = list(itertools.product(known, known))
    for first, second in fillings:  # every way to fill the two blanks
        polarity = (np.array([z[0, 0], first, z[2, 0], second]) - low) / (high - low)
        average += (polarity[:, None] - polarity) ** 2 / len(fillings)
    expected = average + (boiling[:, None] - boiling) ** 2
    np.testing.assert_allclose(made.squares, expected, atol=1e-12)


def test_the_same_numbers_do_not_make_the_same_category() -> None:
    made = Descriptors.of({"a": {"n": 1}, "b": {"n": 1}, "c": {"n": 5}}, ["a", "b", "c"])
    assert made.distances[0, 1] == pytest.approx(0.1)
    assert made.distances[0, 2] == pytest.approx(1)
    assert np.linalg.eigvalsh(np.exp(-(made.distances**2))).min() > 0  # a distance that a kernel can use


def test_other_lines_notes_and_truth_values() -> None:
    table = pd.DataFrame(
        {"solvent": [*SOLVENTS, "toluene"], "CAS": ["7732-18-5", "64-17-5", "110-54-3", "67-68-5", "108-88-3"],
         "protic": [True, True, False, False, False]}
    )  # fmt: skip
    made = bomi.Categorical(SOLVENTS, descriptors=table).descriptors
    assert made.names == ("protic",)
    assert made.rows == ((1.0,), (1.0,), (0.0,), (0.0,))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (TABLE.drop(index="DMSO"), "there are no descriptors of 'DMSO'; give it a line"),
        (TABLE.rename(index={"ethanol": "ethanole"}), "no descriptors of 'ethanol'; did you mean 'ethanole' there"),
        (
            TABLE.map(lambda value: "24x" if value == 24.0 else value),
            "'polarity' of 'ethanol' must be a number or blank, but got '24x'",
        ),
        (TABLE * 0, "they tell none of them apart"),
        (pd.concat([TABLE, TABLE]), "two lines of the descriptors are of 'water'; keep one of them"),
        ([1, 2, 3], "a table with a line for each category"),
        ({"water": 80}, "a mapping such as"),
        ({name: {"polarity": float("inf")} for name in SOLVENTS}, "'polarity' of 'water': expected a finite number"),
    ],
)
def test_mistakes_are_one_line(spec: object, message: str) -> None:
    with pytest.raises(SpaceError, match=re.escape(message)) as caught:
        bomi.Categorical(SOLVENTS, descriptors=spec)
    assert "\n" not in str(caught.value)
    assert caught.value.places == (("descriptors",),)


def test_a_space_with_descriptors_is_equal_hashed_and_pickled() -> None:
    import pickle

    space = bomi.Space({"solvent": bomi.Categorical(SOLVENTS, descriptors=TABLE)})
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(space) == hash(pickle.loads(pickle.dumps(space)))
    assert space != bomi.Space({"solvent": SOLVENTS})
