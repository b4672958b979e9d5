"""Figures that the page shows as text and bars, as plotly takes them, for those who save them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bomi.analysis.drawing import stated
from bomi.space import Integer, Parameter, Real, cells
from bomi.space.cells import Interval, Normal
from bomi.space.units import with_unit
from bomi.web.figures import layout, safe
from bomi.web.theme import BLUE, GREEN, VERMILION

if TYPE_CHECKING:
    import numpy as np

    from bomi.analysis.sensitivity import Importance
    from bomi.workflow import Gap

LIGHT = "rgba(47, 143, 207, 0.35)"


def importance(found: Sequence[Importance], outcome: str) -> dict[str, Any]:
    """How much each parameter matters: alone, and with others."""
    names = [safe(one.parameter) for one in found]
    ends = {
        "type": "data", "symmetric": False, "color": "#666", "thickness": 1.2, "width": 4,
        "array": [one.high - one.total for one in found],
        "arrayminus": [one.total - one.low for one in found],
    }  # fmt: skip
    bars = {"type": "bar", "orientation": "h", "y": names}
    rest = [one.total - one.alone for one in found]
    return _figure(
        [
            {**bars, "x": [one.alone for one in found], "name": "alone", "marker": {"color": BLUE}},
            {**bars, "x": rest, "name": "with others", "marker": {"color": LIGHT}, "error_x": ends},
        ],
        title=f"Which parameters matter for {outcome}",
        barmode="stack",
        showlegend=True,
        xaxis={"title": {"text": safe(f"share of the variation of {outcome}")}, "tickformat": ".0%"},
        yaxis={"autorange": "reversed"},
    )


def interactions(names: Sequence[str], shares: np.ndarray, outcome: str) -> dict[str, Any]:
    """What two parameters do only together."""
    lower = [[float(shares[row, column]) if column < row else None for column in range(len(names) - 1)]
             for row in range(1, len(names))]  # fmt: skip
    map_ = {
        "type": "heatmap", "x": [safe(name) for name in names[:-1]], "y": [safe(name) for name in names[1:]],
        "z": lower, "texttemplate": "%{z:.0%}", "colorscale": [[0, "#ffffff"], [1, BLUE]], "zmin": 0,
        "zmax": max(0.45, float(shares.max())), "colorbar": {"tickformat": ".0%"},
    }  # fmt: skip
    return _figure([map_], title=f"What two parameters do to {outcome} only together", yaxis={"autorange": "reversed"})


def gap(one: Gap, parameter: Parameter) -> dict[str, Any]:
    """How likely each value of a gap is, with what was asked and what is written."""
    axis: dict[str, Any] = {"title": {"text": safe(with_unit(one.parameter, parameter.unit))}}
    shapes = []
    if isinstance(parameter, Real | Integer):
        drawn: dict[str, Any] = {
            "type": "scatter", "mode": "lines", "x": list(one.values), "y": list(one.heights), "fill": "tozeroy",
            "line": {"color": BLUE}, "fillcolor": LIGHT,
        }  # fmt: skip
        axis["type"] = "log" if parameter.log else "linear"
        shapes = [_band(*stated(one.recorded))] if isinstance(one.recorded, Normal | Interval) else []
    else:
        drawn = {"type": "bar", "x": [safe(cells.text(value)) for value in one.values], "y": list(one.heights),
                 "marker": {"color": BLUE}}  # fmt: skip
    if one.asked is not None:
        asked = one.asked if isinstance(parameter, Real | Integer) else safe(cells.text(one.asked))
        shapes.append({"type": "line", "x0": asked, "x1": asked, "yref": "paper", "y0": 0, "y1": 1,
                       "line": {"color": VERMILION, "width": 2}})  # fmt: skip
    called = f"row {one.number}" + (f" ({one.id})" if one.id else "")
    return _figure(
        [drawn],
        title=f"{one.parameter} of {called}",
        shapes=shapes,
        xaxis=axis,
        yaxis={"title": {"text": "how likely"}, "rangemode": "tozero"},
    )


def _band(left: float, right: float) -> dict[str, Any]:
    return {"type": "rect", "x0": left, "x1": right, "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0},
            "fillcolor": GREEN, "opacity": 0.2, "layer": "below"}  # fmt: skip


def _figure(data: list[dict[str, Any]], *, title: str, **more: Any) -> dict[str, Any]:
    """A figure that stands alone: with a title, and on white."""
    alone = {"title": {"text": safe(title)}, "margin": {"l": 60, "r": 30, "t": 60, "b": 50}, "paper_bgcolor": "#fff"}
    return {"data": data, "layout": layout(**{**alone, **more})}
