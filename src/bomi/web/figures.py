"""The figures of the page, as plotly and SVG take them. Texts of the user's are escaped: plotly reads some HTML.

The module is long because each figure has its function here, and all of them share one style.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomi.analysis.drawing import stated
from bomi.campaign import Experiments
from bomi.data.objectives import Objective, keeps_limits
from bomi.data.observations import Row
from bomi.space import Integer, Parameter, Real, cells
from bomi.space.cells import Cell, Interval, Known, Normal
from bomi.space.units import with_unit
from bomi.web.theme import BLUE, GREEN, GREY, VERMILION

if TYPE_CHECKING:
    from bomi.analysis.insight import Placed, Slice, Surface
    from bomi.results import Prediction, Validation
    from bomi.workflow import Gap

CONFIG = {"displayModeBar": False, "responsive": True}
WIDTH, HEIGHT = 240, 84  # of a small density
SLICE, SIDE_BY_SIDE = 210, 24  # height of a slice, and the letters of categories that stand side by side in it
LINE = 22  # height of a category in a list of more of them


def layout(**more: Any) -> dict[str, Any]:
    """What every figure shares; its texts and lines get their colours from the style sheet."""
    axis = {"showline": False, "ticks": "", "zeroline": False, "automargin": True, "fixedrange": True}
    base: dict[str, Any] = {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#33383e", "font": {"color": "#fff"}},
        "dragmode": False,
    }
    for name in ("xaxis", "yaxis"):
        base[name] = {**axis, **more.pop(name, {})}
    return {**base, **more}


def _figure(data: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"data": data, "layout": layout(**more), "config": CONFIG}


LEGEND_ABOVE: dict[str, Any] = {
    "showlegend": True,
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
}


def _points(
    experiments: Experiments,
    rows: Sequence[tuple[int, Row]],
    x: Sequence[float],
    y: Sequence[float],
    hover: str,
    ends: tuple[Sequence[float], Sequence[float]] | None = None,
) -> list[dict[str, Any]]:
    """Rows as points, hollow where an input is missing; `ends` are those of their intervals."""
    found = []
    for complete, title in ((True, "every input known"), (False, "some input missing")):
        some = [i for i, (_, row) in enumerate(rows) if row.complete is complete]
        trace: dict[str, Any] = {
            "type": "scatter", "mode": "markers", "name": title, "x": [x[i] for i in some], "y": [y[i] for i in some],
            "text": [_told(experiments, *rows[i]) for i in some],
            "hovertemplate": f"<b>{hover}</b><br>%{{text}}<extra></extra>", "marker": _marker(complete),
        }  # fmt: skip
        if ends is not None:
            down, up = ([abs(end[i] - y[i]) for i in some] for end in ends)
            trace["error_y"] = {
                "type": "data", "array": up, "arrayminus": down, "color": BLUE, "thickness": 1, "width": 0,
            }  # fmt: skip
        found.append(trace)
    return found


def outcomes(experiments: Experiments, objective: Objective) -> dict[str, Any]:
    """One outcome of every row in its order, with the best so far that keeps all limits, or its own limit."""
    rows = [(n, r, r.outcomes[objective.name]) for n, r in _numbered(experiments) if objective.name in r.outcomes]
    best: list[float | None] = []
    for _, row, y in rows:
        before, kept = best[-1] if best else None, keeps_limits(experiments.campaign.objectives, row.outcomes)
        best.append(y if kept and (before is None or objective.merit(y) > objective.merit(before)) else before)
    places = list(range(1, len(rows) + 1))
    points = _points(experiments, [(n, row) for n, row, _ in rows], places, [y for _, _, y in rows], "%{y}")
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "limit" if objective.limited else "best so far",
        "x": places,
        "y": [objective.target] * len(rows) if objective.limited else best,
        "line": {"shape": "hv", "color": VERMILION, "width": 2},
        "hoverinfo": "skip",
    }
    return _figure(
        [line, *points],
        **LEGEND_ABOVE,
        xaxis={"title": _title("experiment"), "showgrid": False, "range": [0, len(rows) + 1]},
        yaxis={"title": _title(with_unit(objective.name, objective.unit))},
    )


def front(
    experiments: Experiments, pair: tuple[Objective, Objective], choices: Sequence[Mapping[str, Prediction]]
) -> dict[str, Any]:
    """Two outcomes of every row, and what is expected of the best trade-offs between them."""
    x, y = pair
    rows = [(n, row) for n, row in _numbered(experiments) if {x.name, y.name} <= row.outcomes.keys()]
    across, up = ([row.outcomes[one.name] for _, row in rows] for one in pair)
    points = _points(experiments, rows, across, up, "%{x}, %{y}")
    ordered = sorted(choices, key=lambda one: one[x.name].mean)
    expected = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "best trade-offs, expected ± sd",
        "x": [one[x.name].mean for one in ordered],
        "y": [one[y.name].mean for one in ordered],
        "error_x": _error([one[x.name].sd for one in ordered]),
        "error_y": _error([one[y.name].sd for one in ordered]),
        "line": {"color": VERMILION, "width": 1.5, "dash": "dot"},
        "marker": {"size": 10, "color": VERMILION, "symbol": "diamond"},
        "hovertemplate": "expected %{x:.4g}, %{y:.4g}<extra></extra>",
    }
    return _figure(
        [*points, expected],
        **LEGEND_ABOVE,
        xaxis={"title": _title(with_unit(x.name, x.unit))},
        yaxis={"title": _title(with_unit(y.name, y.unit))},
    )


def _numbered(experiments: Experiments) -> list[tuple[int, Row]]:
    return list(zip(experiments.numbers, experiments.rows, strict=True))


def _called(number: int, row: Row) -> str:
    return f"row {number}" + (f" ({safe(row.id)})" if row.id else "")


def _told(experiments: Experiments, number: int, row: Row) -> str:
    """A row with its setting, for hovering."""
    units = {name: one.unit for name, one in experiments.campaign.space.parameters.items()}
    lines = [f"{safe(name)}: {safe(shown_cell(cell))} {safe(units[name])}" for name, cell in row.recorded.items()]
    return "<br>".join([_called(number, row), *lines[:12], *(["…"] if len(lines) > 12 else [])])


def shown_cell(cell: Cell) -> str:
    """A cell in a figure."""
    return "unknown" if cell is None else cells.text(cell)


def validation(experiments: Experiments, objective: Objective, found: Validation) -> dict[str, Any]:
    """What is expected of each row from all others against what was measured, with 90 % intervals."""
    rows, found = dict(_numbered(experiments)), found.believed
    measured, mean = found.measured.tolist(), found.mean.tolist()
    diagonal = [min(*measured, *mean), max(*measured, *mean)]
    line = {
        "type": "scatter", "mode": "lines", "name": "as measured", "x": diagonal, "y": diagonal, "hoverinfo": "skip",
        "line": {"color": VERMILION, "width": 1.6, "dash": "dash"},
    }  # fmt: skip
    hover, ends = "measured %{x}, expected %{y:.4g}", (found.low.tolist(), found.high.tolist())
    points = _points(experiments, [(n, rows[n]) for n in found.rows], measured, mean, hover, ends)
    name = with_unit(objective.name, objective.unit)
    return _figure(
        [line, *points],
        **LEGEND_ABOVE,
        xaxis={"title": _title(f"measured {name}")},
        yaxis={"title": _title(f"expected {name}")},
    )


def map_figure(
    one: Surface,
    names: tuple[str, str],
    parameters: Mapping[str, Parameter],
    outcome: str,
    setting: Mapping[str, Known],
    rows: Sequence[Placed] = (),
    *,
    unsure: bool = False,
) -> dict[str, Any]:
    """The expected outcome over two parameters, or how unsure it is, with the setting and the rows; gaps are smears."""
    across, up = names
    z, colours = (one.sd, "Greys") if unsure else (one.mean, "Viridis")
    known = [row for row in rows if row.known]
    smears = [(x, y) for row in rows if not row.known for x, y in zip(row.across, row.up, strict=True)]
    data: list[dict[str, Any]] = [
        {
            "type": "contour", "x": list(one.across), "y": list(one.up), "z": z.tolist(),
            "colorscale": colours, "contours": {"coloring": "heatmap"}, "line": {"width": 0.6, "color": "#ffffff"},
            "colorbar": {"title": {"text": safe(outcome), "side": "right"}, "thickness": 14},
            "hovertemplate": "%{x:.4g}, %{y:.4g}: %{z:.4g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "markers", "x": [x for x, _ in smears], "y": [y for _, y in smears],
            "hoverinfo": "skip", "marker": {"size": 4, "color": VERMILION, "opacity": 0.3},
        },
        {
            "type": "scatter", "mode": "markers", "x": [row.across[0] for row in known],
            "y": [row.up[0] for row in known], "text": [f"row {row.row}" for row in known],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 7, "color": "#ffffff", "line": {"color": "#222222", "width": 1}},
        },
        {
            "type": "scatter", "mode": "markers", "x": [setting[across]], "y": [setting[up]], "hoverinfo": "skip",
            "marker": {"size": 13, "color": VERMILION, "line": {"color": "#ffffff", "width": 2}},
        },
    ]  # fmt: skip
    axes = [{"title": _title(with_unit(name, parameters[name].unit)), **_along(parameters[name])} for name in names]
    return _figure(data, xaxis=axes[0], yaxis=axes[1])


def _along(parameter: Parameter) -> dict[str, Any]:
    """The axis of a number, from end to end."""
    if not isinstance(parameter, Real | Integer):
        return {}
    left, right = (math.log10(end) if parameter.log else end for end in (parameter.low, parameter.high))
    pad = 0.04 * (right - left)
    if not parameter.log:
        return {"range": [left - pad, right + pad]}
    steps = (1, 2, 5) if right - left < 1.5 else (1,)
    ticks = [step * 10.0**power for power in range(math.floor(left), math.ceil(right) + 1) for step in steps]
    return {"range": [left - pad, right + pad], "type": "log", "tickvals": ticks}


def _marker(complete: bool) -> dict[str, Any]:
    return {"size": 8, "color": BLUE if complete else "rgba(0,0,0,0)", "line": {"color": BLUE, "width": 1.6}}


def _error(sds: Sequence[float]) -> dict[str, Any]:
    return {"type": "data", "array": list(sds), "color": VERMILION, "thickness": 1, "width": 3}


def _title(text: str, most: int = 40) -> dict[str, Any]:
    """The title of an axis. Of a long one, as much as there is room for, and its unit."""
    if len(text) > most:
        unit = text[text.rindex(" (") :] if text.endswith(")") and " (" in text else ""
        text = f"{text[: max(most - len(unit), 8)].rstrip()}…{unit}"
    return {"text": safe(text), "font": {"size": 13}}


def slice_height(one: Slice, parameter: Parameter) -> int:
    """The height of a slice: many categories are listed below each other."""
    return max(SLICE, LINE * len(one.values) + 60) if _listed(one, parameter) else SLICE


def _listed(one: Slice, parameter: Parameter) -> bool:
    return not isinstance(parameter, Real | Integer) and not side_by_side(one.values)


def side_by_side(values: Sequence[object]) -> bool:
    """Whether there is room for categories beside each other; if not, they are listed."""
    return len(" ".join(map(str, values))) <= SIDE_BY_SIDE


def slice_figure(
    one: Slice,
    parameter: Parameter,
    chosen: Known,
    limits: tuple[float, float],
    known: Sequence[tuple[Known, float]],
    outcome: str = "",
    possible: tuple[float, float] = (-math.inf, math.inf),
) -> dict[str, Any]:
    """The expected outcome along one parameter, with bands of one and two standard deviations."""
    choice = not isinstance(parameter, Real | Integer)
    few = choice or len(one.values) <= 12
    values: list[Any] = [safe(str(v)) for v in one.values] if choice else list(one.values)
    mean, sd = one.mean.tolist(), one.sd.tolist()
    dots = {
        "type": "scatter", "mode": "markers", "hoverinfo": "skip",
        "x": [safe(str(v)) if choice else v for v, _ in known],
        "y": [y for _, y in known], "marker": {"size": 4, "color": GREY},
    }  # fmt: skip
    data: list[dict[str, Any]] = [dots]
    if few:
        data.append(
            {
                "type": "scatter", "mode": "markers", "x": values, "y": mean,
                "error_y": {
                    "type": "data", "array": [min(2 * s, possible[1] - m) for m, s in zip(mean, sd, strict=True)],
                    "arrayminus": [min(2 * s, m - possible[0]) for m, s in zip(mean, sd, strict=True)],
                    "color": BLUE, "thickness": 1.6, "width": 5,
                },
                "marker": {"size": 8, "color": BLUE}, "hovertemplate": "%{x}: %{y:.4g}<extra></extra>",
            }
        )  # fmt: skip
    else:
        for times, opacity in ((2, 0.13), (1, 0.2)):
            low = [max(m - times * s, possible[0]) for m, s in zip(mean, sd, strict=True)]
            high = [min(m + times * s, possible[1]) for m, s in zip(mean, sd, strict=True)]
            data.append(
                {
                    "type": "scatter", "mode": "lines", "x": values + values[::-1], "y": high + low[::-1],
                    "fill": "toself", "fillcolor": f"rgba(47,143,207,{opacity})", "line": {"width": 0},
                    "hoverinfo": "skip",
                }
            )  # fmt: skip
        data.append(
            {
                "type": "scatter", "mode": "lines", "x": values, "y": mean, "line": {"color": BLUE, "width": 2},
                "hovertemplate": "%{x:.4g}: %{y:.4g}<extra></extra>",
            }
        )  # fmt: skip
    here: Any = safe(str(chosen)) if choice else chosen
    data.append(
        {
            "type": "scatter", "mode": "lines", "x": [here, here], "y": list(limits), "hoverinfo": "skip",
            "line": {"color": VERMILION, "width": 1.6, "dash": "dash"},
        }
    )  # fmt: skip
    axis: dict[str, Any] = {"showgrid": False, **_along(parameter)}
    if choice:
        ends = [-0.6, len(values) - 0.4]
        axis |= {"type": "category", "categoryorder": "array", "categoryarray": values, "range": ends}
    values_axis = {"range": list(limits), "nticks": 5, "title": _title(outcome, 22)}
    if not _listed(one, parameter):
        return _figure(data, height=SLICE, xaxis=axis, yaxis=values_axis)
    lying = {"x": "y", "y": "x", "error_y": "error_x"}
    data = [{lying.get(key, key): value for key, value in trace.items()} for trace in data]
    for trace in data:
        if "hovertemplate" in trace:
            trace["hovertemplate"] = "%{y}: %{x:.4g}<extra></extra>"
    axis["range"] = axis["range"][::-1]  # the first one above
    return _figure(data, height=slice_height(one, parameter), xaxis=values_axis, yaxis=axis)


def limits(slices: Sequence[Slice], known: Sequence[float], possible: tuple[float, float]) -> tuple[float, float]:
    """One range of outcomes for all slices."""
    low = min([max(float((one.mean - 2 * one.sd).min()), possible[0]) for one in slices] + list(known))
    high = max([min(float((one.mean + 2 * one.sd).max()), possible[1]) for one in slices] + list(known))
    pad = 0.04 * (high - low or 1.0)
    return low - pad, high + pad


def known_points(experiments: Experiments, name: str, outcome: str) -> list[tuple[Known, float]]:
    """An outcome of the rows that are known in a parameter."""
    return [
        (cell, row.outcomes[outcome])
        for row in experiments.rows
        if outcome in row.outcomes and isinstance(cell := row.recorded[name], Known)
    ]


def density(gap: Gap, parameter: Parameter) -> str:
    """How likely each value of a gap is, as a small SVG: geometry only, no text of the user's."""
    count = len(gap.heights)
    if not isinstance(parameter, Real | Integer):
        width = WIDTH / count
        bars = "".join(
            f'<rect class="full" x="{i * width + 0.14 * width:.1f}" y="{HEIGHT - 2 - share * (HEIGHT - 12):.1f}" '
            f'width="{0.72 * width:.1f}" height="{share * (HEIGHT - 12):.1f}" rx="2"/>'
            for i, share in enumerate(gap.heights)
        )
        if gap.asked is not None and gap.asked in gap.values:
            bars += _line("asked", (list(gap.values).index(gap.asked) + 0.5) * width)
        return _svg(bars)
    top = max(gap.heights)
    path = " ".join(
        f"{i / (count - 1) * WIDTH:.1f},{HEIGHT - 2 - height / top * (HEIGHT - 12):.1f}"
        for i, height in enumerate(gap.heights)
    )
    shapes = ""
    if isinstance(gap.recorded, Normal | Interval):
        left, right = (_place(parameter, end) for end in stated(gap.recorded))
        shapes += (
            f'<rect class="stated" x="{left:.1f}" y="4" width="{max(right - left, 1):.1f}" height="{HEIGHT - 6}"/>'
        )
    shapes += f'<polygon class="area" points="0,{HEIGHT - 2} {path} {WIDTH},{HEIGHT - 2}"/>'
    shapes += f'<polyline class="edge" points="{path}"/>'
    if gap.middle is not None:
        shapes += _line("middle", _place(parameter, gap.middle), top=HEIGHT - 14)
    if gap.asked is not None:
        shapes += _line("asked", _place(parameter, float(gap.asked)))
    return _svg(shapes)


def _place(parameter: Real | Integer, value: float) -> float:
    """Where a value is along the width."""
    inside = min(max(value, parameter.low), parameter.high)
    return parameter.to_unit(inside)[0] * WIDTH


def _line(kind: str, x: float, top: float = 4) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{HEIGHT - 2}"/>'


def _svg(shapes: str) -> str:
    axis = f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT - 1.5}" y2="{HEIGHT - 1.5}"/>'
    return (
        f'<svg class="density" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f"{axis}{shapes}</svg>"
    )


def safe(text: str | None) -> str:
    """A text that plotly shows as it is."""
    return html.escape(text or "", quote=False)


LEGEND: Mapping[str, str] = {"how likely": BLUE, "asked": VERMILION, "as written": GREEN}
