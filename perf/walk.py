"""The walk of one `bomi suggest --append`: which functions of ours it enters, and what is converted on the way.

python perf/walk.py [TABLE]

Counted are the rooms that a table passes through on its way to the optimizer and back: cli, workflow, campaign, data
and optimizer. What the model does in between is left out.
"""

import contextlib
import io
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

import pandas as pd

import bomi
from bomi import cli, optimizer, workflow  # noqa: F401  # loaded before anything is counted
from bomi.campaign import experiments, sheet, storage
from bomi.data import columns, observations

ROOMS = ("cli", "workflow", "campaign", "data", "optimizer")
EXAMPLE = Path(__file__).parent.parent / "examples" / "heat-treatment.csv"
CONVERSIONS = {
    "bytes read from disk": storage.read_bytes,
    "bytes to sheet": sheet.parse_sheet,
    "sheet to rows": experiments.check,
    "columns to rows": columns.read_columns,
    "rows to columns": observations.Observations.columns,
    "DataFrames made": pd.DataFrame.__init__,
}


def main() -> None:
    """Count one walk."""
    package = Path(bomi.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "lab.csv"
        shutil.copy(sys.argv[1] if len(sys.argv) > 1 else EXAMPLE, table)
        run("init", str(table))
        campaign = table.parent / "campaign.toml"
        campaign.write_text(campaign.read_text(encoding="utf-8") + '\n[method]\nname = "mean"\n', encoding="utf-8")
        entered: Counter[object] = Counter()

        def count(frame: FrameType, event: str, argument: object) -> None:
            if event == "call":
                entered[frame.f_code] += 1

        sys.setprofile(count)
        try:
            run("suggest", str(table), "--append")
        finally:
            sys.setprofile(None)
    ours = {code: times for code, times in entered.items() if _is_ours(code, package)}
    print(f"functions entered: {len(ours)}, in {sum(ours.values())} calls")
    for name, function in CONVERSIONS.items():
        print(f"{name}: {entered[function.__code__]}")  # type: ignore[attr-defined]


def run(*arguments: str) -> None:
    """A command, silently."""
    sys.argv = ["bomi", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code: object = 0
        try:
            cli.main()
        except SystemExit as exit:
            code = exit.code
    if code:
        raise SystemExit(said.getvalue())


def _is_ours(code: object, package: Path) -> bool:
    path, name = Path(code.co_filename), code.co_name  # type: ignore[attr-defined]
    if package not in path.parents or name.startswith("<"):
        return False
    return path.relative_to(package).parts[0].removesuffix(".py").partition("_")[0] in ROOMS


if __name__ == "__main__":
    main()
