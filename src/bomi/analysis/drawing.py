"""How figures are drawn: one style, one scale for each kind of parameter, one legend, one way to save.

The colours are Okabe and Ito's, which colour-blind people can distinguish.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bomi.errors import FileError
from bomi.results import capitalized
from bomi.space import Categorical, Integer, Ordinal, Parameter
from bomi.space.cells import Interval, Known, Normal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00"
INK, SOFT, FAINT = "#222222", "#767676", "#dddddd"
STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "bomi",  # the same figure gives the same file
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
}
FORMATS = ("png", "svg")
DPI = 160
WIDE = 28  # characters side by side below a small figure
MANY = 1000  # points, from which on they are drawn small, and as a picture also where lines are kept as lines

P = ParamSpec("P")
T = TypeVar("T")


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Draw in our style, and leave the user's own matplotlib settings as they are."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return styled


@styled
def save(figure: Figure, path: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Save a figure under a name, once for each format, and laid out once for all of them."""
    files = [path.with_name(f"{path.name}.{kind}") for kind in formats]
    figure.set_dpi(DPI)
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, kind in zip(files, formats, strict=True):
            when: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
            figure.savefig(file, format=kind, dpi=DPI, **when)
    except OSError as error:
        raise FileError(
            f"the figures cannot be written to {path.parent}: {error.strerror or error}; choose another folder"
        ) from None
    return files


def new_figure(
    width: float, height: float, *, rows: int = 0, columns: int = 1, share: bool = False
) -> tuple[Figure, Any]:
    """A figure with one set of axes, or a list of them; without pyplot, which has global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if not rows:
        return figure, figure.subplots()
    return figure, list(figure.subplots(rows, columns, squeeze=False, sharey=share).flat)


def new_panels(
    count: int, width: float, height: float, *, most: int = 3, least: float = 0.0, share: bool = False
) -> tuple[Figure, list[Any]]:
    """A figure with so many axes of one size in rows of at most so many, and 0.4 more in height for what is below."""
    across = min(most, count)
    down = -(-count // across)
    figure, panels = new_figure(max(least, width * across), height * down + 0.4, rows=down, columns=across, share=share)
    for idle in panels[count:]:
        idle.set_visible(False)
    return figure, panels[:count]


def scale(axes: Any, parameter: Parameter, axis: str) -> None:
    """The parameter's own scale along an axis."""
    if isinstance(parameter, Categorical | Ordinal):
        ticks = [str(value) for value in parameter.values]
        getattr(axes, f"set_{axis}ticks")(range(len(ticks)), ticks)
        getattr(axes, f"set_{axis}lim")(-0.6, len(ticks) - 0.4)
        if axis == "x" and sum(map(len, ticks)) > WIDE:
            axes.tick_params(axis="x", labelrotation=90, labelsize=8)
        return
    if isinstance(parameter, Integer) and not parameter.log:
        getattr(axes, f"{axis}axis").get_major_locator().set_params(integer=True, min_n_ticks=1)
    if parameter.log:
        getattr(axes, f"set_{axis}scale")("log")
        getattr(axes, f"{axis}axis").set_major_formatter(lambda value, _: f"{value:g}")
        margin = (parameter.high / parameter.low) ** 0.03
        limits = parameter.low / margin, parameter.high * margin
    else:
        pad = 0.03 * (parameter.high - parameter.low)
        limits = parameter.low - pad, parameter.high + pad
    getattr(axes, f"set_{axis}lim")(*limits)


def height(parameter: Parameter, value: Known) -> float:
    """Where a value is along an axis: the value itself, or the index of its category."""
    return float(parameter.values.index(value)) if isinstance(parameter, Categorical | Ordinal) else float(value)


def stated(cell: Normal | Interval) -> tuple[float, float]:
    """The ends of what a cell says."""
    return (cell.low, cell.high) if isinstance(cell, Interval) else (cell.mean - 2 * cell.sd, cell.mean + 2 * cell.sd)


def dots(count: int, size: float = 34) -> dict[str, Any]:
    """How large so many points are drawn, and whether as a picture."""
    return {"s": size} if count <= MANY else {"s": size / 5, "rasterized": True}


def grid(axes: Any, axis: str = "y") -> None:
    """Faint lines behind everything."""
    axes.set_axisbelow(True)
    axes.grid(axis=axis, color=FAINT, linewidth=0.7)


def legend_below(figure: Figure, panels: Sequence[Any]) -> None:
    """One legend for all panels, each entry once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=5)


def heading(figure: Figure, text: str, below: str = "") -> None:
    """A title for all panels, with a sentence below it."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, weight="bold")
    if below:
        import textwrap

        width = int(figure.get_figwidth() * 13.5)
        lines = textwrap.wrap(capitalized(below), width)
        figure.axes[0].set_title("\n".join(lines), fontsize=9, weight="normal", color=SOFT)
