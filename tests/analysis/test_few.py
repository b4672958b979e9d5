"""Figures and gaps where there is little of anything: one parameter, no outcome yet, names that look alike."""

import pandas as pd
import pytest

import bomi
from bomi.analysis import insight, plots, sensitivity


def test_every_figure_of_one_parameter(tmp_path):
    optimizer = bomi.Optimizer({"x": (0, 1)}, objective="y", seed=0)
    optimizer.tell(pd.DataFrame({"x": [0.1, 0.4, None, 0.9, 0.6], "y": [1.0, 2.0, 1.5, 0.5, 1.8]}))
    files, left_out = plots.save_all(optimizer, tmp_path, formats=("png",))
    assert {"slices.png", "importance.png"} <= {path.name for path in files}
    assert all(path.stat().st_size > 0 for path in files)
    assert not [why for why in left_out if "Error" in why]
    assert len(sensitivity.importance(optimizer)) == 1
    assert len(insight.ranked_gaps(optimizer)) == 1


@pytest.mark.parametrize(
    "parameter", [bomi.Integer(1, 8), bomi.Real(0, 1, step=0.1), bomi.Ordinal([1, 2, 5]), bomi.Categorical(list("xyz"))]
)
@pytest.mark.parametrize("several", [False, True])
def test_nothing_is_claimed_of_a_gap_while_an_outcome_is_unknown_everywhere(parameter, several):
    if several:
        wanted = {"y": "maximize", "z": "maximize"}
        optimizer = bomi.Optimizer({"n": parameter}, objective=wanted, seed=0)
        optimizer.tell(pd.DataFrame({"n": [None, None], "y": [1.0, 2.0], "z": [None, None]}))
    else:
        optimizer = bomi.Optimizer({"n": parameter}, seed=0)
        optimizer.tell({"n": None}, failed=True)
    gaps = optimizer.gaps()
    assert set(gaps["parameter"]) == {"n"}
    assert gaps[["mean", "sd", "worth"]].isna().to_numpy().all()
    assert gaps["probabilities"].isna().all()
    assert not any(one.draws for one in optimizer.gap_draws())
    optimizer.ask()


def test_outcomes_whose_names_look_alike_have_a_file_each(tmp_path):
    names = ("a/b", "a b", "a_b")
    optimizer = bomi.Optimizer({"x": (0, 1)}, objective=dict.fromkeys(names, "maximize"), seed=0)
    rows = pd.DataFrame({"x": [0.1, 0.4, 0.9, 0.6], **{name: [1.0, 2.0, 0.5, 1.8] for name in names}})
    optimizer.tell(rows)
    files, _ = plots.save_all(optimizer, tmp_path, formats=("png",))
    assert len(set(files)) == len(files)
    assert sum(path.name.startswith("slices") for path in files) == 3
