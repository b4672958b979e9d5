"""All hunters, one after the other, on cases that nobody has tried: PYTHONPATH=src python tests/hunt --minutes 60."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HUNTERS = ("api", "files", "documents", "killer", "racer", "faults")
TURNS = 5  # of the soak, for every minute


def main() -> None:
    """Run each for its share of the time; the exit code is 1 if any has found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of all hunters together, but for doors and soak")
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000, help="the first case of each")
    options = parser.parse_args()
    share = ["--minutes", f"{options.minutes / len(HUNTERS):.3f}", "--seed", str(options.seed)]
    commands = [["doors"], *([name, *share] for name in HUNTERS)]
    commands.append(["soak", "--turns", str(max(int(TURNS * options.minutes), 20))])
    failed = []
    for name, *arguments in commands:
        print(f"--- {name} {' '.join(arguments)}", flush=True)
        script = Path(__file__).parent / f"{name}.py"
        if subprocess.run([sys.executable, str(script), *arguments], check=False).returncode:
            failed.append(name)
    print(f"found something: {', '.join(failed)}" if failed else "nothing found")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
