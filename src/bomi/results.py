"""What an optimizer answers: predictions, suggestions, what is best, draws of gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bomi.space.cells import Cell, Known


class Prediction(NamedTuple):
    """What the worlds expect of an outcome, and how unsure they are."""

    mean: float
    sd: float


@dataclass(frozen=True)
class GapDraws:
    """What the worlds say of one value that is not known exactly; no draws if the method leaves its row out."""

    row: int  # counted from 0, in the order told
    parameter: str
    draws: tuple[Known, ...]
    recorded: Cell
    asked: Known | None


@dataclass(frozen=True, eq=False)
class Suggestion(Mapping[str, Known]):
    """An experiment to run next: a mapping of parameter to value."""

    id: str
    values_by_name: Mapping[str, Known]
    predicted: Any = None  # a Prediction, or one for each of several outcomes by name; None without a model
    note: str = ""

    def __getitem__(self, name: str) -> Known:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        expected = f", predicted={shown(self.predicted)}" if self.predicted else ""
        note = f", note={self.note!r}" if self.note else ""
        return f"Suggestion({dict(self)}, id={self.id!r}{expected}{note})"


def shown(predicted: Any) -> str:
    """A prediction in short."""
    if isinstance(predicted, Mapping):
        return "{" + ", ".join(f"{name!r}: {shown(one)}" for name, one in predicted.items()) + "}"
    return f"{predicted.mean:.4g}±{predicted.sd:.2g}"


@dataclass(frozen=True)
class Best:
    """The recommended setting, and beside it the best outcome seen with what is known of its inputs."""

    setting: Mapping[str, Known] | None
    predicted: Any  # a Prediction, or one for each of several outcomes by name; None without a model
    seen: Any  # the outcome, or several by name
    seen_at: Mapping[str, Cell]
    seen_known: bool
    note: str = ""
    seen_row: int | None = None  # counted from 0, in the order told


@dataclass(frozen=True)
class Front(Best):
    """The best trade-offs between several outcomes, as a list of `Best`; itself the one in the middle.

    No setting is expected to be better than one of these in every outcome. Each has beside it the row that came
    nearest to the same trade-off. They are in the order of the first outcome, the best of it last.
    """

    choices: tuple[Best, ...] = ()

    def __iter__(self) -> Iterator[Best]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __getitem__(self, place: int) -> Best:
        return self.choices[place]
