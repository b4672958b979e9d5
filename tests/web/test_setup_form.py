"""The form of the set-up, without a browser: to and from the document, and where faults belong."""

from pathlib import Path

import pytest

from bomi.campaign import CampaignError
from bomi.campaign.toml import from_document, read_document
from bomi.web.views.setup_form import FormError, document_of, field_at, form_of, is_numeric, new_key, number

TOML = """
lab = "kept as it is"
out_of_bounds = "keep"

[objectives.yield]
goal = "target"
target = 90
unit = "%"

[objectives.cost]
goal = "minimize"

[parameters.temperature]
range = [20, 200]
step = 5
unit = "°C"
default = 25

[parameters.passes]
type = "integer"
scale = "log"
range = [1, 64]

[parameters.grain]
type = "ordinal"
values = [60, 120, 240]

[parameters.solvent]
values = ["water", "oil"]

[[constraints]]
terms = {temperature = 1, passes = -2.5}
min = 0
max = 150

[groups]
columns = ["day", "lot"]

[drift]
column = "date"

[method]
name = "mean"
"""


def document():
    return read_document(Path("campaign.toml"), TOML.encode())


def test_a_form_says_the_document_that_it_was_made_from():
    assert document_of(form_of(document()), document()) == document()
    single = {"objective": {"name": "y", "goal": "maximize"}, "parameters": {"a": {"range": [0, 1]}}}
    assert document_of(form_of(single), single) == {**single, "constraints": [], "out_of_bounds": "error"}
    limited = {"objectives": {"y": {"goal": "maximize"}, "c": {"goal": "limit", "target": 3}}, **single}
    del limited["objective"]
    assert document_of(form_of(limited), limited) == {**limited, "constraints": [], "out_of_bounds": "error"}
    by_order = {**single, "drift": {}, "constraints": [], "out_of_bounds": "error"}
    assert document_of(form_of(by_order), by_order) == by_order


def test_a_parameter_keeps_its_part_in_constraints_under_another_name():
    form = form_of(document())
    form["parameters"]["p0"]["name"] = "oven"
    made = document_of(form, document())
    assert made["constraints"][0]["terms"] == {"oven": 1, "passes": -2.5}
    assert made["parameters"]["oven"]["default"] == 25


def test_names_that_are_missing_or_doubled_are_told_at_their_fields():
    form = form_of(document())
    form["parameters"]["p1"]["name"] = "temperature"
    form["outcomes"]["o1"]["name"] = " "
    with pytest.raises(FormError) as caught:
        document_of(form, document())
    assert [(one.section, one.key, one.field) for one in caught.value.wrong] == [
        ("outcomes", "o1", "name"),
        ("parameters", "p1", "name"),
    ]


@pytest.mark.parametrize(
    ("section", "key", "field", "text"),
    [
        ("parameters", "p0", "low", "hot"),
        ("parameters", "p0", "high", "10"),
        ("parameters", "p0", "step", "-1"),
        ("parameters", "p3", "values", "water"),
        ("outcomes", "o0", "target", "many"),
        ("constraints", "c0", "high", "much"),
    ],
)
def test_what_the_library_refuses_is_put_at_its_field(section, key, field, text):
    form = form_of(document())
    form[section][key][field] = text
    made = document_of(form, {name: value for name, value in document().items() if name != "lab"})
    with pytest.raises(CampaignError) as caught:
        from_document(Path("campaign.toml"), made)
    spots = [field_at(form, place) for fault in caught.value.faults for place in fault.places]
    assert (section, key, field) in spots


def test_places_that_no_field_stands_for():
    form = form_of(document())
    assert field_at(form, ()) is None
    assert field_at(form, ("parameters", "colour")) is None
    assert field_at(form, ("constraints", 7, "max")) is None
    assert field_at(form, ("method", "name")) == ("method", "", "")
    assert field_at(form, ("constraints", 0, "terms", "passes")) == ("constraints", "c0", "terms.p1")
    assert field_at(form, ("constraints", 0, "terms")) == ("constraints", "c0", "terms")


def test_numbers_as_people_type_them():
    assert [number(text) for text in ("3", "3.0", "0,5", "\N{MINUS SIGN}2", "1e3", "soon", "", None)] == [
        3, 3.0, 0.5, -2, 1000.0, "soon", "", "",
    ]  # fmt: skip
    assert isinstance(number("3"), int)
    form = form_of(document())
    assert [is_numeric(one) for one in form["parameters"].values()] == [True, True, True, False]
    assert new_key(form["parameters"], "p") == "p4"


def test_groups_and_drift_can_be_given_up():
    form = form_of(document())
    assert (form["groups"], form["drift"]) == (["day", "lot"], "date")
    form |= {"groups": [], "drift": ""}
    assert {"groups", "drift"}.isdisjoint(document_of(form, document()))


def test_what_the_form_does_not_know_of_a_parameter_survives():
    """A measured input stays measured, and a file of descriptors goes on naming the values."""
    document = {
        "objective": {"name": "y", "goal": "maximize"},
        "parameters": {
            "humidity": {"range": [20, 80], "role": "measured"},
            "feed": {"values": ["A", "B"], "role": "measured", "blank": "unknown"},
            "solvent": {"descriptors": "solvents.csv"},
            "base": {"descriptors": "bases.csv", "values": ["KOAc", "CsOAc"]},
        },
        "constraints": [
            {"nonzero": ["humid", "dry"], "max": 1},
            {"product": {"flow": 1, "time": -1}, "min": 0.5, "max": 2},
            {"terms": {"flow": 1, "time": 2}, "equals": 3},
        ],
        "candidates": "library.csv",
        "replacement": False,
        "same_in_batch": ["solvent"],
    }
    made = document_of(form_of(document), document)
    assert made["parameters"] == document["parameters"]
    assert made["constraints"] == document["constraints"]
    assert (made["candidates"], made["replacement"], made["same_in_batch"]) == ("library.csv", False, ["solvent"])
