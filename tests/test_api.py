"""What holds of everything public: it can be copied, pickled, compared and shown."""

import copy
import inspect
import logging
import pickle
import re
import subprocess
import sys

import pandas as pd
import pytest

import bomi
from bomi import BomiError, Categorical, Integer, Interval, Linear, Normal, Optimizer, Ordinal, Prediction, Real, Space
from bomi.errors import TableError
from bomi.results import Best, Front, Suggestion

SPACE = Space(
    {"oil": Real(0, 10, unit="g"), "water": Real(0, 10, step=0.5), "n": Integer(1, 8), "kind": ["a", "<b>"]},
    constraints=[Linear({"oil": 1, "water": 1}, max=15)],
)


def lab(method="mean", objective="y"):
    optimizer = Optimizer(SPACE, objective=objective, method=method, seed=0)
    several = not isinstance(objective, str)
    for i in range(5):
        y = {"a": float(i), "b": float(i % 3)} if several else float(i)
        optimizer.tell({"oil": None if i == 2 else i, "water": i, "n": i + 1, "kind": "a" if i % 2 else "<b>"}, y)
    return optimizer


def error():
    optimizer = Optimizer({"x": (0, 1)})
    with pytest.raises(TableError) as caught:
        optimizer.tell(pd.DataFrame({"x": [0.5, 7.0], "y": ["good", 1.0]}))
    return caught.value


FRONT = {"a": "maximize", "b": "minimize"}
PUBLIC = {
    "space": lambda: SPACE,
    "real": lambda: Real(1, 10, log=True, unit="g", default=2),
    "integer": lambda: Integer(1, 10),
    "categorical": lambda: Categorical(["a", 1, True]),
    "ordinal": lambda: Ordinal([1, 2, 5]),
    "linear": lambda: Linear({"a": 1}, max=2),
    "normal": lambda: Normal(1, 2),
    "interval": lambda: Interval(1, 2),
    "prediction": lambda: Prediction(1.0, 2.0),
    "suggestion": lambda: lab().ask(),
    "best": lambda: lab().best(),
    "front": lambda: lab(objective=FRONT).best(),
    "observations": lambda: lab().observations,
    **{f"method {name}": lambda name=name: bomi.METHODS[name] for name in bomi.METHODS},
}
WAYS = {"pickle": lambda one: pickle.loads(pickle.dumps(one)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_copied_and_pickled(name, way):
    one = PUBLIC[name]()
    other = WAYS[way](one)
    assert type(other) is type(one)
    assert other == one
    assert repr(other) == repr(one)


@pytest.mark.parametrize("way", WAYS)
def test_an_error_keeps_its_problems(way):
    one = error()
    other = WAYS[way](one)
    assert type(other) is TableError
    assert str(other) == str(one)
    assert [problem.column for problem in other.problems] == ["x", "y"]
    assert other.problems == one.problems


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["mean", "posterior"])
def test_a_copied_optimizer_goes_on_alike_and_on_its_own(method, way):
    one = lab(method)
    pending = one.ask()
    other = WAYS[way](one)
    assert other.observations == one.observations
    other.tell(pending, 9.0)
    assert one.observations.pending
    one.tell(pending, 9.0)
    assert other.ask() == one.ask()
    assert other.frame().equals(one.frame())


# --- suggestions ---


def test_suggestions_are_equal_by_content_and_can_be_put_into_sets():
    one = Suggestion("1", {"x": 0.5, "k": "a"}, Prediction(1.0, 0.1), "note")
    same = Suggestion("1", {"k": "a", "x": 0.5}, Prediction(1.0, 0.1), "note")
    assert one == same
    assert len({one, same}) == 1
    others = [
        Suggestion("2", one.values_by_name, one.predicted, one.note),
        Suggestion("1", {"x": 0.6, "k": "a"}, one.predicted, one.note),
        Suggestion("1", one.values_by_name, None, one.note),
        Suggestion("1", one.values_by_name, one.predicted),
    ]
    assert all(one != other for other in others)
    assert len({one, *others}) == 5
    assert one == {"x": 0.5, "k": "a"}
    assert one != {"x": 0.5}
    assert one != "1"


def test_several_predictions_do_not_keep_a_suggestion_out_of_a_set():
    suggestion = lab(objective=FRONT).ask()
    assert set(suggestion.predicted) == {"a", "b"}
    assert suggestion in {suggestion}


# --- predict and success ---

SETTING = {"oil": 1, "water": 2, "n": 3, "kind": "a"}


def test_one_setting_a_list_and_a_table_are_predicted_alike():
    optimizer = lab()
    one = optimizer.predict(SETTING)
    assert isinstance(one, Prediction)
    typed = {"oil": "1", "water": 2.0, "n": "3", "kind": "a"}
    assert optimizer.predict([SETTING, typed]) == [one, one]
    assert optimizer.predict(pd.DataFrame([SETTING])) == [one]
    assert optimizer.predict([]) == []
    assert optimizer.predict(Suggestion("7", SETTING)) == one
    assert optimizer.success(SETTING) == 1.0
    assert optimizer.success([SETTING, SETTING]) == [1.0, 1.0]
    several = lab(objective=FRONT).predict(SETTING)
    assert set(several) == {"a", "b"}


WRONG = {
    "misspelt": ({**SETTING, "oli": 1}, "names no parameter: 'oli'"),
    "misspelt and missing": ({"oli": 1, "water": 2, "n": 3, "kind": "a"}, r"'oli'; did you mean 'oil'\?"),
    "missing": ({"oil": 1, "water": 2}, "lacks 'n', 'kind'"),
    "below": ({**SETTING, "oil": -1}, r"'oil': -1 is out of bounds \[0, 10\] g$"),
    "no level": ({**SETTING, "kind": "c"}, "expected one of a, <b>"),
    "a gap": ({**SETTING, "oil": None}, r"expected a plain value, but got \?"),
    "uncertain": ({**SETTING, "oil": Normal(1, 1)}, "expected a plain value, but got 1±1"),
    "not whole": ({**SETTING, "n": 2.5}, "whole number"),
    "nan": ({**SETTING, "oil": float("nan")}, "plain value"),
    "huge": ({**SETTING, "oil": 10**5000}, "expected a finite number"),
    "a list of one wrong": ([SETTING, {**SETTING, "n": 9}], "setting 1, parameter 'n'"),
    "a text": ("oil", "expected a setting, a list of settings or a table"),
    "a number": (5, "expected a setting"),
    "numbers": ([1, 2], "setting 0 must be a mapping"),
    "None": (None, "expected a setting"),
    "no names": ({1: 2}, "names no parameter: 1"),
    "a table with a wrong column": (pd.DataFrame([{**SETTING, "oli": 2}]), "names no parameter: 'oli'"),
}


@pytest.mark.parametrize("call", ["predict", "predict_asked", "success"])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_setting_is_not_predicted(case, call):
    settings, said = WRONG[case]
    with pytest.raises(BomiError, match=said):
        getattr(lab(), call)(settings)


@pytest.mark.parametrize("case", [case for case, (setting, _) in WRONG.items() if isinstance(setting, dict)])
def test_what_is_no_setting_is_not_explained(case):
    setting, said = WRONG[case]
    with pytest.raises(BomiError, match=said):
        lab().explain(setting)


@pytest.mark.parametrize("outcome", ["z", 5, ["y"]])
def test_an_outcome_that_is_not_there_is_told(outcome):
    optimizer = lab()
    with pytest.raises(BomiError, match="no outcome is called"):
        optimizer.expected([[0.5, 0.5, 0.5, 1.0, 0.0]], outcome)
    with pytest.raises(BomiError, match="no outcome is called"):
        optimizer.learned(outcome)


@pytest.mark.parametrize("places", [[0.5], [[0.5]], "x", None, [[float("nan")] * 5], [["a"] * 5]])
def test_what_is_no_place_of_the_cube_is_told(places):
    with pytest.raises(BomiError, match=r"shape \(m, 5\)"):
        lab().expected(places)


# --- how it shows ---


def test_the_optimizer_says_what_it_is_and_how_much_it_was_told():
    optimizer = Optimizer(SPACE, objective="y", method="mean", seed=0)
    assert repr(optimizer) == "<Optimizer: maximize y by oil, water, n, kind; method 'mean'; 0 experiments>"
    optimizer = lab()
    optimizer.ask()
    optimizer.exclude(row=0)
    optimizer.tell({"oil": 1, "water": 1, "n": 1, "kind": "a"}, failed=True)
    said = "7 experiments: 4 with an outcome, 1 failed, 1 pending, 1 excluded"
    assert said in repr(optimizer)
    page = optimizer._repr_html_()
    assert said in page
    assert "oil + water &lt;= 15" in page
    assert "{a, &lt;b&gt;}" in page


@pytest.mark.parametrize("name", ["suggestion", "best", "front"])
def test_results_show_as_tables_and_nothing_in_them_is_markup(name):
    page = PUBLIC[name]()._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 1
    assert all(f"<td style='text-align: left'>{text}</td>" in page or f">{text}</th>" in page for text in SPACE.names)
    assert "<b>" not in page.replace("<b>Best", "").replace("<b>Suggestion", "")
    assert "±" in page


def test_results_without_a_model_show_too():
    assert "space-filling" in Optimizer(SPACE, seed=0).ask()._repr_html_()
    assert "has gaps" in Best(None, None, 1.0, {"x": None}, False, "has gaps")._repr_html_()
    assert "<table>" in Front(None, None, {}, {}, False)._repr_html_()


RESULTS = (bomi.Best, bomi.Front, bomi.Prediction, bomi.Suggestion, bomi.Validation)  # what nobody makes by hand
CALLS = [getattr(bomi, name) for name in bomi.__all__ if callable(getattr(bomi, name))]
CALLS += [call for name, call in inspect.getmembers(Optimizer, callable) if name[0] != "_"]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_every_argument_is_explained(call):
    if call in RESULTS or (isinstance(call, type) and issubclass(call, Exception)):
        return
    names = set(inspect.signature(call).parameters) - {"self"}
    explained = inspect.getdoc(call).partition("Args:\n")[2].partition("Returns:")[0]
    assert names == set(re.findall(r"^    (\w+): ", explained, re.MULTILINE))


# --- logging ---


def test_nothing_is_printed_by_the_log_until_the_user_wants_it():
    handlers = logging.getLogger("bomi").handlers
    assert [type(handler) for handler in handlers] == [logging.NullHandler]
    program = "import bomi, logging; logging.getLogger('bomi').warning('trouble')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_nothing_warns_where_constraints_leave_few_settings():
    parameters = {"a": Real(0, 100, step=25), "b": Real(-27.8, 287.9), "c": Real(1, 100, log=True)}
    optimizer = Optimizer(Space(parameters, constraints=[Linear({"a": 0.5}, equals=25)]), method="knn", seed=64)
    for a, b, c, y in ((None, 107.8, 29.4, 1.03), (50, 219, 23.4, -0.51), (0, 202.1, 6.73, 0.37), (0, None, 7.2, 0.14)):
        optimizer.tell({"a": a, "b": b, "c": c}, y)
    assert optimizer.best().setting["a"] == 50
