"""Inputs that are measured but cannot be set."""

import copy
import pickle

import numpy as np
import pytest
import torch

import bomi
from bomi.analysis import insight
from bomi.campaign import Campaign
from bomi.campaign.toml import parse_campaign
from bomi.errors import BomiError
from bomi.search import acquisition
from bomi.search.choices import Choices

SPACE = {"temperature": (0, 1), "humidity": bomi.Measured(0, 10), "quench": ["water", "oil"]}


def outcome(temperature, humidity, quench="oil"):
    """The best temperature is a tenth of the humidity."""
    return -((temperature - humidity / 10) ** 2) + 0.1 * (quench == "oil")


def told(method="posterior", rows=24, blanks=4, high=10.0, **options):
    optimizer = bomi.Optimizer(SPACE, method=method, seed=0, **options)
    rng = np.random.default_rng(1)
    for i in range(rows):
        temperature, humidity, quench = rng.random(), high * rng.random(), str(rng.choice(["water", "oil"]))
        recorded = None if i % blanks == 0 else humidity
        setting = {"temperature": temperature, "humidity": recorded, "quench": quench}
        optimizer.tell(setting, outcome(temperature, humidity, quench))
    return optimizer


@pytest.mark.parametrize("method", ["posterior", "bomi", "mean", "random"])
def test_it_is_never_suggested_and_its_row_has_a_gap_until_told(method):
    optimizer = told(method, rows=12)
    batch = optimizer.ask(3)
    assert all(list(one) == ["temperature", "quench"] for one in batch)
    optimizer.tell(batch[0], 0.1, actual={"humidity": 4})
    optimizer.tell(batch[1], 0.1)
    rows = optimizer.frame().set_index("id").loc[[one.id for one in batch], "humidity"]
    assert rows.iloc[0] == 4
    assert rows.iloc[1:].isna().all()
    again = bomi.Optimizer(SPACE, method=method, seed=0)
    again.tell(optimizer.frame())
    assert again.observations.rows == optimizer.observations.rows
    if method != "random":
        assert list(optimizer.best().setting) == ["temperature", "quench"]


def test_known_when_asking_the_best_is_that_of_the_day():
    optimizer = told(rows=36, blanks=6)
    found = {}
    for humidity in (2, 8):
        best = optimizer.best(given={"humidity": humidity})
        assert best.setting["humidity"] == humidity
        assert optimizer.ask(given={"humidity": humidity})["humidity"] == humidity
        found[humidity] = best.setting["temperature"]
    assert found == pytest.approx({2: 0.2, 8: 0.8}, abs=0.15)


def test_known_later_the_best_is_good_over_what_it_has_been():
    """E[-(t - h)^2] is largest at the mean of h, and is minus its variance there."""
    for high in (10.0, 4.0):
        optimizer = told("mean", rows=60, blanks=100, high=high)
        best = optimizer.best()
        assert best.setting["temperature"] == pytest.approx(high / 20, abs=0.06)
        assert best.predicted.mean == pytest.approx(0.1 - (high / 10) ** 2 / 12, abs=0.03)
        today = optimizer.best(given={"humidity": high / 2}).setting
        assert optimizer.predict(best.setting).sd > 2 * optimizer.predict(today).sd  # the days differ


def test_the_score_is_the_expected_improvement_averaged_over_the_draws():
    optimizer = told("mean", rows=15, acquisition="ei")
    fit = optimizer._known.fit
    choices = Choices(optimizer.space)
    outlook = fit.choosing(choices)
    points = choices.draw(5, np.random.default_rng(0))
    score = optimizer.method.acquisition.score(outlook, t=1, parameters=3)(points)
    (model,) = fit.models
    used = []  # what each row tried would give on each day; an improvement is over the one that is best on average
    for draw in fit.typical:
        rows = torch.where(torch.tensor([False, True, False, False]), draw, fit.measured[0])
        used.append(model.moments(rows)[0][0])
    chosen = int(torch.stack(used).mean(0).argmax())
    gains = []
    for draw, at in zip(fit.typical, used, strict=True):
        places = torch.stack([torch.cat([point[:1], draw[1:2], point[1:]]) for point in points])
        mean, variance = model.moments(places)
        gains.append(acquisition.log_excess(mean, variance.sqrt(), at[chosen])[0].exp())
    torch.testing.assert_close(score.exp(), torch.stack(gains).mean(0))


def test_a_batch_and_pending_rows_are_conditioned_on_although_something_is_open():
    optimizer = told("mean", rows=12)
    batch = optimizer.ask(3)
    assert len({one["temperature"] for one in batch}) == 3
    later = optimizer.ask()
    assert all(
        abs(later["temperature"] - one["temperature"]) > 1e-4 or later["quench"] != one["quench"] for one in batch
    )


def test_predictions_average_over_what_is_left_out():
    optimizer = told("mean", rows=40, blanks=100)
    setting = {"temperature": 0.5, "quench": "oil"}
    days = [optimizer.predict({**setting, "humidity": float(10 * h)}) for h in optimizer._known.fit.typical[:, 1]]
    assert optimizer.predict(setting).mean == pytest.approx(np.mean([day.mean for day in days]))
    assert optimizer.success(setting) == 1.0
    slices = {one.parameter: one for one in insight.slices(optimizer, optimizer.best().setting)}
    assert list(slices) == ["temperature", "humidity", "quench"]
    assert optimizer.completed(setting).keys() == set(SPACE)


def test_candidates_need_not_say_what_is_measured():
    optimizer = told("mean", rows=20)
    library = [{"temperature": t / 10, "quench": "oil"} for t in range(11)]
    assert optimizer.best(candidates=library, given={"humidity": 8}).setting["temperature"] == pytest.approx(
        0.8, abs=0.15
    )
    found = [optimizer.ask(candidates=library) for _ in range(11)]
    assert {one.candidate for one in found} == set(range(11))


def test_without_a_model_the_first_design_leaves_it_open():
    optimizer = bomi.Optimizer(SPACE, seed=0)
    assert all(list(one) == ["temperature", "quench"] for one in optimizer.ask(3))
    optimizer.tell({"temperature": 0.5, "quench": "oil"}, 1.0)
    assert optimizer.best().setting == {"temperature": 0.5, "quench": "oil"}


def test_a_category_can_be_measured_and_several_outcomes_wanted():
    space = {"a": (0, 1), "b": (0, 1), "supplier": bomi.Measured(["Acme", "Bolt"])}
    optimizer = bomi.Optimizer(space, objective={"y": "maximize", "z": "minimize"}, method="mean", seed=0)
    rng = np.random.default_rng(0)
    for i, (a, b) in enumerate(rng.random((12, 2))):
        optimizer.tell({"a": a, "b": b, "supplier": [None, "Acme", "Bolt"][i % 3]}, {"y": a + b, "z": a})
    assert list(optimizer.ask()) == ["a", "b"]
    assert optimizer.ask(given={"supplier": "Bolt"})["supplier"] == "Bolt"
    assert all(list(one.setting) == ["a", "b"] for one in optimizer.best())


def test_spaces_and_optimizers_with_it_are_copied_and_equal():
    space = bomi.Space(SPACE)
    assert space.measured == ("humidity",)
    assert pickle.loads(pickle.dumps(space)) == space == copy.deepcopy(space)
    assert space != bomi.Space({**SPACE, "humidity": (0, 10)})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bomi.Space({"a": bomi.Measured(0, 1)}), "every parameter is measured: nothing can be set"),
        (lambda: bomi.Measured(0, 1, 2), "Measured needs a low and a high bound, or a list of values"),
        (lambda: bomi.Measured(3, 1), "`low < high` must hold"),
        (lambda: bomi.Real(0, 1, measured="yes"), "`measured` must be True or False"),
        (
            lambda: bomi.Space(SPACE, constraints=[bomi.Linear({"temperature": 1, "humidity": 1}, max=5)]),
            "speaks of 'humidity', which is measured: nobody can keep it",
        ),
        (
            lambda: told(rows=4).ask(given={"humidity": 95}),
            "`given`, parameter 'humidity': 95 is out of bounds [0, 10]",
        ),
        (
            lambda: told(rows=4).ask(given={"temperature": 0.5, "quench": "oil"}),
            "every parameter that can be set is given",
        ),
        (lambda: told(rows=4).predict({"humidity": 3}), "lacks 'temperature', 'quench'"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(make, said):
    with pytest.raises(BomiError) as caught:
        make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


TOML = """[objective]
name = "y"

[parameters.temperature]
range = [0, 1]

[parameters.humidity]
role = "measured"
unit = "%"
range = [0, 10]

[method]
name = "mean"
"""


def test_a_campaign_says_it_and_is_written_as_it_was_read(tmp_path):
    campaign = parse_campaign(tmp_path / "campaign.toml", TOML.encode())
    assert campaign.space.measured == ("humidity",)
    assert parse_campaign(tmp_path / "campaign.toml", campaign.text().encode()) == campaign
    with pytest.raises(BomiError, match='role must be "set" or "measured", but got "seen"'):
        parse_campaign(tmp_path / "campaign.toml", TOML.replace('"measured"', '"seen"').encode())


def test_the_loop_with_a_table(tmp_path):
    from bomi import workflow
    from bomi.campaign import withdraw

    (tmp_path / "campaign.toml").write_text(TOML, encoding="utf-8")
    table = tmp_path / "lab.csv"
    rng = np.random.default_rng(0)
    rows = [
        (t, "" if i % 3 == 0 else round(10 * h, 2), outcome(t, 10 * h)) for i, (t, h) in enumerate(rng.random((15, 2)))
    ]
    table.write_text("temperature,humidity,y\n" + "".join(f"{t},{h},{y}\n" for t, h, y in rows), encoding="utf-8")
    (open_one,) = workflow.suggest(table, append=True)
    (known,) = workflow.suggest(table, append=True, given={"humidity": "7"})
    assert list(open_one.suggestion) == ["temperature"]
    lines = [line.split(",") for line in table.read_text("utf-8").splitlines()]
    header = lines[0]
    last = [dict(zip(header, line, strict=True)) for line in lines[-2:]]
    assert [one["humidity"] for one in last] == ["", "7"]
    assert [one["asked.humidity"] for one in last] == ["", "7"]
    found = workflow.overview(workflow.load(table))
    assert list(found.recommended[0].best.setting) == ["temperature"]
    assert list(found.recommended[0].around) == ["temperature", "humidity"]
    gone = withdraw(table, Campaign.read(tmp_path / "campaign.toml"), numbers=[17, 18])
    assert len(gone) == 2
    assert known.suggestion["humidity"] == 7
