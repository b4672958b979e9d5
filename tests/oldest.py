"""The lowest version that pyproject.toml allows of each package, as constraints for pip; `make test-oldest` uses it.

Torch is left out: its old builds for a processor alone are not where pip looks, and the others bring gigabytes of CUDA.
"""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("xlsx", "robot", "web", "optuna", "dask", "test")


def lowest(pyproject: Path) -> list[str]:
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    bounds = dict(re.findall(r"^([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)[0] for line in wanted if ">=" in line)
    return [f"{name}=={version}" for name, version in sorted(bounds.items()) if name != "torch"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")) + "\n")
