"""Problems with known optima, the ways in which their inputs go missing, and comparisons of methods on them.

>>> import bomi.benchmarks
>>> result = bomi.benchmarks.run("branin", "random", budget=5, seed=0)
>>> len(result.best)
6
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bomi.benchmarks.runner import Result, run
    from bomi.benchmarks.sweeps import Case, sweep

__all__ = ["Case", "Result", "run", "sweep"]


def __getattr__(name: str) -> Any:
    # These load torch, which takes seconds: only when first used.
    if name not in __all__:
        raise AttributeError(f"module 'bomi.benchmarks' has no attribute {name!r}")
    from bomi.benchmarks import runner, sweeps

    return getattr(sweeps if name in ("Case", "sweep") else runner, name)
