from pathlib import Path

import pytest

from bomi.benchmarks.experiments import PAPER_METHODS, all_methods, experiment
from bomi.benchmarks.missingness import Events, HistoryGaps
from bomi.benchmarks.problems import find_problem
from bomi.errors import BenchmarkError, MethodError
from bomi.methods import METHODS
from bomi.space.cells import Interval


def test_performance_is_the_papers() -> None:
    found = experiment("performance")
    assert {case.label: case.budget for case in found.cases} == {
        "eggholder2d": 60,
        "schubert4d": 120,
        "alpine5d": 160,
        "schwefel5d": 160,
    }
    assert all(case.rows == 30 and case.gaps == HistoryGaps(share=0.8, most=1) for case in found.cases)
    assert all(case.missing == Events(0.25, 0.05) for case in found.cases)
    assert found.repeats == 10
    assert set(found.methods) == {*METHODS, "oracle", "naive"}
    assert {*PAPER_METHODS, "random"} <= set(METHODS)


def test_stability_varies_one_setting_at_a_time() -> None:
    found = experiment("stability")
    assert len({case.label for case in found.cases}) == 18
    assert {case.problem for case in found.cases} == {"schwefel"}
    events = {case.label: case.missing for case in found.cases}
    assert events["rho=0.65"] == Events(0.65, 0.05)
    assert [label for label in events if label.startswith("eta")] == [f"eta=0.{n}" for n in range(1, 10)]
    assert events["eta=0.3"] == Events(0.25, 0.3)
    assert events["v=4"] == Events(0.5, 0.05, most=4)


def test_heat_gives_each_kind_of_parameter_its_own_events() -> None:
    (case,) = experiment("heat").cases
    assert (case.budget, case.rows) == (100, 30)
    assert case.missing is not None
    assert case.missing.rho == (0.35,) * 4 + (0.25,) * 4
    assert case.missing.eta == (0.8,) * 4 + (Interval(0.7, 0.9),) * 4
    case.missing.draw(0, 1, find_problem("heat").dim)


def test_the_robot_loses_x_or_y_and_its_execution_errors_are_simulated() -> None:
    (case,) = experiment("robot").cases
    assert (case.problem, case.label, case.budget, case.rows) == ("robot", "robot", 100, 30)
    assert case.missing == Events([0.5, 0.5, 0.0, 0.0], 0.0)
    assert experiment("robot", brenda=Path("brenda.csv")).cases[0].problem == "robot@brenda.csv"
    assert experiment("heat", brenda=Path("brenda.csv")).cases == experiment("heat").cases


def test_quick_is_a_small_version_of_the_same() -> None:
    found = experiment("stability", quick=True)
    assert [case.label for case in found.cases] == ["rho=0.25", "rho=0.65", "eta=0.1", "eta=0.9", "v=1", "v=4"]
    assert {case.budget for case in found.cases} == {30}
    assert found.repeats == 3
    assert found.methods == experiment("stability").methods
    assert [case.problem for case in experiment("performance", quick=True).cases] == [
        case.problem for case in experiment("performance").cases
    ]


def test_methods_and_initial_data_can_be_chosen() -> None:
    found = experiment("performance", methods=["mean", "bomi:worlds=2"], initial=Path("data"))
    assert found.methods == ("mean", "bomi:worlds=2")
    assert {case.initial for case in found.cases} == {Path("data")}
    assert all_methods()[:8] == PAPER_METHODS


def test_cases_can_be_chosen_by_label() -> None:
    found = experiment("stability", cases=["v=2", "rho=0.25"])
    assert [case.label for case in found.cases] == ["v=2", "rho=0.25"]
    with pytest.raises(BenchmarkError, match=r"'heat' has no case 'v=2'; it has heat"):
        experiment("heat", cases=["v=2"])


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(BenchmarkError, match="performance, stability, heat, robot"):
        experiment("speed")
    with pytest.raises(MethodError, match=r"unknown method 'meen'.*did you mean 'mean'"):
        experiment("performance", methods=["meen"])
