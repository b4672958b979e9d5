"""What is wrong with a campaign comes with its place, for programs that show it at a field."""

import pickle

import pytest

from bomi.campaign import Campaign, CampaignError, Fault
from bomi.campaign.toml import from_document
from bomi.data.objectives import Objective
from bomi.space import Categorical, Real, Space

GOOD = {
    "objective": {"name": "y"},
    "parameters": {
        "a": {"range": [0, 10]},
        "time (h)": {"range": [1, 5], "type": "integer"},
        "quench": {"values": ["oil", "air"]},
    },
    "constraints": [{"terms": {"a": 1, "time (h)": 1}, "max": 12}],
}


def faults(**changed):
    """The faults of the good document with some sections changed."""
    with pytest.raises(CampaignError) as caught:
        from_document("campaign.toml", GOOD | changed)
    return [(fault.section, *fault.places) for fault in caught.value.faults]


def constraint(**spec):
    return faults(constraints=[GOOD["constraints"][0], spec])


def test_the_document_is_good():
    assert from_document("campaign.toml", GOOD).objective == "y"


@pytest.mark.parametrize(
    ("spec", "places"),
    [
        ({"range": [3]}, [("range",)]),
        ({"range": ["x", 3]}, [("range", 0)]),
        ({"range": [0, None]}, [("range", 1)]),
        ({"range": [3, 1]}, [("range", 0), ("range", 1)]),
        ({"range": [0, 1], "scale": "log"}, [("range", 0), ("scale",)]),
        ({"range": [0, 1], "scale": "ln"}, [("scale",)]),
        ({"range": [0, 1], "step": 3}, [("step",)]),
        ({"range": [0, 1.5], "type": "integer"}, [("range", 1)]),
        ({"range": [0, 1], "unit": 3}, [("unit",)]),
        ({"range": [0, 1], "default": "?"}, [("default",)]),
        ({"range": [0, 1], "ranges": 3}, [("ranges",)]),
        ({"values": ["oil"]}, [("values",)]),
        ({"values": ["oil", "=1+1"]}, [("values",)]),
        ({"values": [1, 3, 2], "type": "ordinal"}, [("values",)]),
        ({"type": "number"}, [("type",)]),
    ],
)
def test_a_fault_of_a_parameter_is_at_its_keys(spec, places):
    parameters = {**GOOD["parameters"], "a": spec}
    assert faults(parameters=parameters, constraints=[]) == [
        ("parameters.a", *(("parameters", "a", *p) for p in places))
    ]


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"max": 3}, ("terms",)),
        ({"terms": {"b": 1}, "max": 3}, ("terms", "b")),
        ({"terms": {"a": 0}, "max": 3}, ("terms", "a")),
        ({"terms": {"a": 1}, "max": "x"}, ("max",)),
        ({"terms": {"a": 1}, "equals": "x"}, ("equals",)),
        ({"terms": {"a": 1}}, ()),
        ({"terms": {"quench": 1}, "max": 3}, ("terms", "quench")),
        ({"terms": {"a": 1}, "min": 11}, ()),
    ],
)
def test_a_fault_of_a_constraint_is_at_its_keys(spec, place):
    assert constraint(**spec) == [("constraints 2", ("constraints", 1, *place))]


def test_constraints_that_cannot_be_kept_together_are_all_at_fault_and_no_other():
    total, least = {"terms": {"a": 1, "time (h)": 1}, "max": 3}, {"terms": {"a": 1}, "min": 2.5}
    idle = {"terms": {"a": 1}, "max": 9}
    assert faults(constraints=[total, idle, least]) == [("", ("constraints", 0), ("constraints", 2))]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"objective": {}}, ("objective", ("objective", "name"))),
        ({"objective": {"name": ""}}, ("objective", ("objective", "name"))),
        ({"objective": {"name": "a"}}, ("objective", ("objective", "name"))),
        ({"objective": {"name": " y"}}, ("objective", ("objective", "name"))),
        ({"objective": {"name": "y", "goal": "target"}}, ("objective", ("objective", "target"))),
        ({"objective": {"name": "y", "goal": "limit", "target": 1}}, ("objective", ("objective", "goal"))),
        ({"method": {"name": "meen"}}, ("method", ("method", "name"))),
        ({"out_of_bounds": "no"}, ("", ("out_of_bounds",))),
        ({"objectiv": {}}, ("", ("objectiv",))),
        ({"constraints": {}}, ("", ())),
    ],
)
def test_other_faults_are_at_theirs(changed, found):
    assert faults(**changed) == [found]


def test_one_of_several_outcomes_is_at_fault_by_its_name():
    document = {name: part for name, part in GOOD.items() if name != "objective"}
    with pytest.raises(CampaignError) as caught:
        from_document("c.toml", {**document, "objectives": {"y": {}, "a": {}, "x z": {"goal": "most"}}})
    assert [fault.section for fault in caught.value.faults] == ['objectives."x z"']
    with pytest.raises(CampaignError) as caught:
        from_document("c.toml", {**document, "objectives": {"y": {}, "a": {}}})
    assert caught.value.faults[0].places == (("objectives", "a"),)


def test_every_name_that_a_spreadsheet_would_run_is_told_at_once():
    with pytest.raises(CampaignError) as caught:
        Campaign(Space({"=a": Real(0, 1), "b": Categorical(["@x", "y"])}), (Objective("+y"),))
    places = [fault.places[0] for fault in caught.value.faults]
    assert places == [("objective", "name"), ("parameters", "=a"), ("parameters", "b", "values")]


def test_an_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(CampaignError.of([Fault("wrong", (("method",),))], "c.toml")))
    assert (str(error), error.faults) == ("c.toml: [method] wrong", (Fault("wrong", (("method",),)),))
