"""The figure of docs/design.md: which part of the program imports which, before and after rooms were made.

    python docs/figures/make_imports.py OLD/src    # a checkout of the version before; writes imports.png beside itself

A node is a module or folder directly below `bomi`; its height is how many imports lead down from it to the lowest one.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

mpl.use("agg")
HERE = Path(__file__).parent
LIST_IMPORTS = """
import grimp
graph = grimp.build_graph("bomi", cache_dir=None)
for one in sorted(graph.modules):
    for other in sorted(graph.find_modules_directly_imported_by(one)):
        print(one, other)
"""


def imports(source: Path) -> dict[str, set[str]]:
    """Which parts each part imports; what only starts the program is left out."""
    code = f"import sys; sys.path.insert(0, {str(source)!r})\n{LIST_IMPORTS}"
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines.splitlines():
        one, other = (name.split(".")[1] if "." in name else "" for name in line.split())
        found[one].add(other)
        found[other] |= set()
    for left_out in ("", "__main__", "errors"):  # everybody imports the errors
        found.pop(left_out, None)
    return {one: {other for other in others if other in found and other != one} for one, others in found.items()}


def heights(graph: dict[str, set[str]]) -> dict[str, int]:
    """The longest way down from each part; of a cycle, as if the import that closes it were not there."""
    found: dict[str, int] = {}

    def height(name: str, above: tuple[str, ...] = ()) -> int:
        if name not in found:
            below = [height(other, (*above, name)) for other in graph[name] if other not in above]
            found[name] = 1 + max(below, default=-1)
        return found[name]

    for name in sorted(graph):
        height(name)
    return found


def draw(axes: Axes, title: str, graph: dict[str, set[str]]) -> None:
    """The parts in rows, an arrow for each import."""
    levels: dict[int, list[str]] = defaultdict(list)
    for name, level in heights(graph).items():
        levels[level].append(name)
    places = {}
    for level, names in levels.items():
        for i, name in enumerate(sorted(names)):
            places[name] = ((i + 1) / (len(names) + 1) + 0.015 * (level % 3 - 1), level)
    for one, others in graph.items():
        for other in others:
            up = places[other][1] >= places[one][1]
            axes.annotate(
                "",
                xytext=places[one],
                xy=places[other],
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": "#D55E00" if up else "#0072B2",
                    "alpha": 0.8 if up else 0.28,
                    "shrinkA": 9,
                    "shrinkB": 9,
                    "connectionstyle": "arc3,rad=0.12",
                    "lw": 0.9,
                },
            )
    for name, place in places.items():
        box = {"boxstyle": "round,pad=0.25", "fc": "white", "ec": "#777777", "lw": 0.7}
        axes.text(*place, name, ha="center", va="center", fontsize=7.5, bbox=box)
    count = sum(map(len, graph.values()))
    axes.set_title(f"{title}: {len(graph)} parts, {count} imports between them", fontsize=10, loc="left", weight="bold")
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.6, max(levels) + 0.6)
    axes.axis("off")


def main() -> None:
    """Both versions side by side."""
    sources = {"Before": Path(sys.argv[1]).resolve(), "Now": (HERE / "../../src").resolve()}
    figure, panels = plt.subplots(1, 2, figsize=(15, 9), layout="constrained")
    for axes, (title, source) in zip(panels, sources.items(), strict=True):
        draw(axes, title, imports(source))
    figure.savefig(HERE / "imports.png", dpi=110)


if __name__ == "__main__":
    main()
