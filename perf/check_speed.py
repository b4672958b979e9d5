"""Seconds that `bomi check` and `bomi init` take for a table of 100,000 rows and 20 columns.

python perf/check_speed.py [ROWS]
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_table(folder: Path, rows: int, columns: int = 20) -> Path:
    """Write random numbers, a tenth of them blank and a hundredth uncertain, and a campaign beside them."""
    draw = random.Random(0)
    names = [f"p{j}" for j in range(columns - 1)]

    def cell() -> str:
        kind = draw.random()
        return "" if kind < 0.1 else f"{draw.random():.4f}±0.01" if kind < 0.11 else f"{draw.random():.6f}"

    lines = [",".join([*names, "y"])]
    lines += [",".join([*(cell() for _ in names), f"{draw.gauss(0, 1):.6f}"]) for _ in range(rows)]
    table = folder / "experiments.csv"
    table.write_text("\n".join(lines) + "\n")
    sections = [f"[parameters.{name}]\nrange = [0, 1]\n" for name in names]
    (folder / "campaign.toml").write_text('[objective]\nname = "y"\n' + "\n".join(sections))
    return table


def processor() -> float:
    """Processor time of the commands run so far: what counts on a machine with other work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure three runs."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(Path(folder), rows)
        size = table.stat().st_size / 2**20
        for command in (["check"], ["init", "--force"]):
            for attempt in range(3):
                start, spent = time.perf_counter(), processor()
                subprocess.run(
                    [sys.executable, "-m", "bomi.cli", *command, str(table)], check=True, capture_output=True
                )
                seconds = time.perf_counter() - start
                print(
                    f"{command[0]}: {rows} rows x 20 columns, {size:.1f} MB, run {attempt + 1}: {seconds:.2f} s, "
                    f"{processor() - spent:.2f} s of one core"
                )


if __name__ == "__main__":
    main()
