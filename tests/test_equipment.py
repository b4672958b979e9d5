"""Equipment that strays: what is suggested, recommended, predicted and told of it."""

import numpy as np
import pandas as pd
import pytest

import bomi
from bomi.analysis import equipment_plot
from bomi.methods import METHODS


def hill_and_ridge(x):
    """A narrow peak of 1.2 at 0.8 beside a broad hill of 1 at 0.3: with an error of 0.1 the hill is better."""
    return 1.2 * np.exp(-0.5 * ((x - 0.8) / 0.04) ** 2) + np.exp(-0.5 * ((x - 0.3) / 0.2) ** 2)


def campaign(rows=40, error=lambda a, rng: rng.normal(0, 0.1, len(a)), recorded=True, seed=1, **settings):
    """An optimizer that has been told requests for a furnace, and what it made of them."""
    rng = np.random.default_rng(seed)
    asked = np.linspace(0.02, 0.98, rows)
    done = np.clip(asked + error(asked, rng), 0, 1)
    frame = pd.DataFrame({"heat": done if recorded else np.nan, "asked.heat": asked, "y": hill_and_ridge(done)})
    optimizer = bomi.Optimizer({"heat": (0, 1)}, seed=0, **settings)
    optimizer.tell(frame)
    return optimizer


@pytest.fixture(scope="module")
def furnace():
    return campaign()


def test_the_setting_to_ask_for_is_not_the_best_place_to_be(furnace):
    expected, nominal = furnace.best(), furnace.best(risk="nominal")
    assert expected.setting["heat"] == pytest.approx(0.3, abs=0.08)
    assert nominal.setting["heat"] == pytest.approx(0.8, abs=0.03)
    assert nominal.predicted.mean > expected.predicted.mean
    assert expected.as_done.mean > nominal.as_done.mean + 0.1
    assert furnace.best(risk=("worst", 0.1)).setting["heat"] == pytest.approx(0.3, abs=0.1)


def test_what_to_expect_of_asking_is_the_average_over_what_is_done(furnace):
    done = 0.8 + np.random.default_rng(0).normal(0, 0.1, 10_000)
    truth = hill_and_ridge(done)
    found = furnace.predict_asked({"heat": 0.8})
    assert found.mean == pytest.approx(truth.mean(), abs=0.2)
    assert found.execution == pytest.approx(truth.std(), abs=0.12)
    assert found.execution <= found.sd
    assert furnace.predict({"heat": 0.8}).mean == pytest.approx(1.2, abs=0.15)
    assert len(furnace.predict_asked([{"heat": 0.1}, {"heat": 0.2}])) == 2


def test_suggestions_say_what_to_expect_as_done(furnace):
    from copy import copy

    suggestion = copy(furnace).ask()
    assert suggestion.as_done.sd > suggestion.predicted.sd
    assert "as_done=" in repr(suggestion)
    assert "as done" in suggestion._repr_html_()


def test_equipment_that_does_what_it_is_asked_changes_nothing():
    exact = campaign(error=lambda a, rng: 0 * a)
    nominal = campaign(error=lambda a, rng: 0 * a, method=replaced(execution=False))
    assert exact._known.fit.execution is None
    assert exact.ask() == nominal.ask()
    assert exact.best() == exact.best(risk="nominal") == nominal.best()
    assert exact.best().as_done is None
    assert exact.predict_asked({"heat": 0.3}) == (*exact.predict({"heat": 0.3}), 0)


def replaced(**changes):
    from dataclasses import replace

    return replace(METHODS["posterior"], **changes)


def test_a_method_that_does_not_plan_for_it_recommends_the_place(furnace):
    nominal = campaign(method=replaced(execution=False))
    assert nominal.best().setting == nominal.best(risk="nominal").setting
    assert nominal.best().as_done is None


def test_a_request_that_led_elsewhere_is_not_asked_for_again():
    """The best place is behind a tree: whoever asks for it ends at 0.5, where there is nothing."""

    def done(asked):
        return 0.5 if 0.7 < asked < 0.9 else asked

    optimizer = bomi.Optimizer({"x": (0, 1)}, seed=0)
    rng = np.random.default_rng(0)
    for x in rng.uniform(0, 1, 6):
        if not 0.6 < x < 0.95:
            optimizer.tell({"x": x}, float(x))
    asked = []
    for _ in range(12):
        suggestion = optimizer.ask()
        place = done(suggestion["x"])
        optimizer.tell(suggestion, float(place), actual={"x": place})
        asked.append(suggestion["x"])
    behind = [x for x in asked if 0.7 < x < 0.9]
    assert len(behind) <= 6
    assert max(asked[-4:]) > 0.9


@pytest.mark.parametrize(
    "risk", ["careful", "worst", ("worst", 0), ("worst", 2), ("worst", "x"), ("best", 0.1), None, 1]
)
def test_a_risk_that_is_none(furnace, risk):
    with pytest.raises(bomi.BomiError, match=r'risk must be "expected", "nominal" or \("worst", share\)'):
        furnace.best(risk=risk)


def test_the_table_of_the_equipment(furnace):
    (line,) = furnace.execution().to_dict("records")
    assert (line["parameter"], line["asked"], line["lost"]) == ("heat", 40, 0)
    assert 0.75 < line["strayed"] < 1
    assert 0.3 < line["above"] < 0.7
    assert line["5 %"] == pytest.approx(-0.16, abs=0.08)
    assert line["95 %"] == pytest.approx(0.16, abs=0.08)
    assert line["worth"] == pytest.approx(1.2 - 0.89, abs=0.15)  # the peak, instead of the hill with an error


def test_lost_values_are_told_by_their_draws():
    optimizer = campaign(rows=16, recorded=False)
    (line,) = optimizer.execution().to_dict("records")
    assert line["lost"] == 1
    assert 0 < line["strayed"] < 1


def test_swapped_categories_several_outcomes_failures_and_rows_without_a_request():
    optimizer = bomi.Optimizer(
        {"heat": (0, 1), "bath": ["oil", "water"]}, objective={"y": "maximize", "z": "minimize"}, seed=0
    )
    rng = np.random.default_rng(1)
    for k in range(16):
        heat, bath = rng.random(), ["oil", "water"][k % 2]
        done = "water" if k % 4 == 0 else bath
        outcome = {"y": float(heat + (done == "oil")), "z": float(heat)}
        row = {"heat": heat, "bath": done, **({"asked.heat": heat, "asked.bath": bath} if k > 2 else {}), **outcome}
        optimizer.tell(pd.DataFrame([row | ({"y": "failed", "z": "failed"} if k == 9 else {})]))
    frame = optimizer.execution().set_index("parameter")
    assert frame.loc["bath", "asked"] == 13
    assert frame.loc["bath", "instead"] == {"oil → water": 1.0}
    assert frame.loc["heat", "strayed"] == 0
    assert frame.loc["bath", "worth"] > 0
    best = optimizer.best(risk=("worst", 0.2))
    assert len(best) > 1
    assert set(best.as_done) == {"y", "z"}
    assert set(optimizer.ask(2)[1].as_done) == {"y", "z"}
    equipment_plot.equipment(optimizer)


def test_before_anything_is_known_of_it():
    optimizer = bomi.Optimizer({"heat": (0, 1)}, seed=0)
    (line,) = optimizer.execution().to_dict("records")
    assert line["asked"] == 0
    assert np.isnan(line["worth"])
    with pytest.raises(bomi.BomiError, match="no execution error to show"):
        equipment_plot.equipment(optimizer)


def test_requests_and_values_outside_the_space_are_taken_as_they_are():
    frame = pd.DataFrame({"heat": [1.3, 0.5, 0.2, 0.8, 0.1], "asked.heat": [1.2, 0.5, 0.2, 0.8, 0.3], "y": range(5)})
    optimizer = bomi.Optimizer({"heat": (0, 1)}, seed=0)
    optimizer.tell(frame, out_of_bounds="keep")
    assert optimizer.execution()["asked"].tolist() == [5]
    assert 0 <= optimizer.ask()["heat"] <= 1
    assert 0 <= optimizer.best().setting["heat"] <= 1


def test_asked_categories_that_do_not_exist_are_refused():
    optimizer = bomi.Optimizer({"bath": ["oil", "water"]}, seed=0)
    with pytest.raises(bomi.BomiError, match=r"asked\.bath"):
        optimizer.tell(pd.DataFrame({"bath": ["oil"], "asked.bath": ["brine"], "y": [1.0]}))


def test_the_figure(furnace):
    figure = equipment_plot.equipment(furnace)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "asked heat"
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"recorded", "as asked"}


def test_a_measured_input_goes_along():
    """What is asked strays, and what is measured is not known beforehand: both at once, in every answer."""
    optimizer = bomi.Optimizer({"heat": (0, 1), "humidity": bomi.Real(0, 1, measured=True)}, seed=0)
    rng = np.random.default_rng(1)
    asked, humidity = np.linspace(0.02, 0.98, 30), rng.random(30)
    done = np.clip(asked + rng.normal(0, 0.1, 30), 0, 1)
    outcome = hill_and_ridge(done) + 0.2 * humidity
    optimizer.tell(pd.DataFrame({"heat": done, "asked.heat": asked, "humidity": humidity, "y": outcome}))
    assert optimizer.execution()["parameter"].tolist() == ["heat"]
    best = optimizer.best()
    assert best.setting["heat"] == pytest.approx(0.3, abs=0.1)
    assert "humidity" not in best.setting
    assert best.as_done.mean == pytest.approx(0.89 + 0.1, abs=0.15)
    wet, dry = (optimizer.predict_asked({"heat": 0.3, "humidity": h}).mean for h in (0.9, 0.1))
    assert wet - dry == pytest.approx(0.16, abs=0.06)
    first, second = optimizer.ask(2, given={"humidity": 0.4})
    assert first["humidity"] == second["humidity"] == 0.4
    assert first.as_done.execution > 0
    assert set(optimizer.ask()) == {"heat"}


def test_a_list_of_candidates_goes_along(furnace):
    best = furnace.best(candidates=[{"heat": 0.8}, {"heat": 0.3}])
    assert best.setting == {"heat": 0.3}
    assert furnace.best("nominal", candidates=[{"heat": 0.8}, {"heat": 0.3}]).setting == {"heat": 0.8}
