import pytest

from .corpus import cases, outcome


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_cell_of_a_messy_table_is_read_right_or_refused(case):
    assert outcome(case) == case.expected


def test_the_corpus_has_the_habits_of_several_fields_and_languages():
    names = [case.name for case in cases()]
    assert len(names) >= 300
    assert {name.split("-")[0] for name in names} >= {
        "metal",
        "chem",
        "bio",
        "agri",
        "semi",
        "poly",
        "food",
        "batt",
        "ceram",
    }
    assert {name.split("-")[1] for name in names} >= {"en", "de", "fr", "es", "it", "pt", "pl", "ja"}
