"""What the worker computes, each from one version of the two files. Only the worker imports this: it loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from bomi import workflow
from bomi.analysis import insight
from bomi.campaign.snapshot import Snapshot, assess
from bomi.errors import BomiError, MethodError
from bomi.report import report as make_report
from bomi.results import Validation
from bomi.space.cells import Known

Progress: TypeAlias = Callable[..., None]  # what it is at, and how much is done, from 0 to 1, where that is known
Version: TypeAlias = tuple[Path, Path, bytes, bytes]  # the table and the campaign: where they are, what they hold


@lru_cache(maxsize=1)
def study(table: Path, campaign: Path, content: bytes, toml: bytes) -> workflow.LoadedTable:
    """The optimizer that has been told this version; kept, so that what it has learned serves every view."""
    found = assess(Snapshot(table, campaign, content, toml))
    if found.experiments is None:
        raise BomiError("the table or its set-up has problems; mend them first")
    return workflow.study(found.experiments)


def _study(version: Version, progress: Progress) -> workflow.LoadedTable:
    progress("learning from the table")
    return study(*version)


def suggest(
    version: Version, count: int, given: Sequence[tuple[str, Known]], *, progress: Progress
) -> list[workflow.Advice]:
    """The next experiments, with what is given today."""
    loaded = _study(version, progress)
    return workflow.advise(
        loaded, count, lambda number: progress(f"{number} of {count} found", number / count), given=dict(given)
    )


def gaps(version: Version, *, progress: Progress) -> list[workflow.Gap]:
    """What each gap may have been."""
    return workflow.gap_list(_study(version, progress))


def overview(version: Version, *, progress: Progress) -> workflow.Overview:
    """The best, what matters, and slices through the recommended setting."""
    return workflow.overview(_study(version, progress))


def trust(version: Version, *, progress: Progress) -> list[Validation]:
    """Every row predicted from all others."""
    return workflow.validations(_study(version, progress))


def prospects(version: Version, *, progress: Progress) -> str:
    """Whether to go on, in one line; nothing where that cannot be said."""
    loaded = _study(version, progress)
    try:
        return workflow.prospects(loaded)[1]
    except MethodError:
        return ""


def report(version: Version, *, progress: Progress) -> str:
    """The report, as one page of HTML."""
    return make_report(_study(version, progress), done=lambda what: progress(f"writing the report, {what}"))


def look(version: Version, items: Sequence[tuple[str, Known]], *, progress: Progress) -> list[workflow.Look]:
    """What to expect of a setting of one's own."""
    return workflow.look(_study(version, progress), dict(items))


def slices(
    version: Version, items: Sequence[tuple[str, Known]], outcome: str, *, progress: Progress
) -> tuple[list[insight.Slice], Any]:
    """Slices of one outcome through a setting, and what to expect of it."""
    optimizer, setting = _study(version, progress).optimizer, dict(items)
    return insight.slices(optimizer, setting, outcome=outcome), optimizer.predict([setting])[0]


def surface(
    version: Version, items: Sequence[tuple[str, Known]], across: str, up: str, outcome: str, *, progress: Progress
) -> tuple[insight.Surface, list[insight.Placed]]:
    """One outcome over two parameters, the others as in a setting; and the rows, by line number."""
    loaded = _study(version, progress)
    found = insight.surface(loaded.optimizer, dict(items), across, up, outcome=outcome)
    rows = insight.placed(loaded.optimizer, across, up, outcome=outcome)
    return found, [replace(one, row=loaded.experiments.numbers[one.row]) for one in rows]


JOBS: Mapping[str, Callable[..., Any]] = {
    job.__name__: job for job in (suggest, gaps, overview, trust, prospects, report, look, slices, surface)
}
