"""What an optimizer answers: predictions, suggestions, what is best, draws of gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple, TypeAlias, TypeVar

from bomi.space import cells
from bomi.space.cells import Cell, Known

T = TypeVar("T")


class Prediction(NamedTuple):
    """What the worlds expect of an outcome, and how unsure they are."""

    mean: float
    sd: float


class AsDone(NamedTuple):
    """What is expected of asking for a setting, as the equipment does it."""

    mean: float
    sd: float
    execution: float  # the part of the standard deviation that comes from what is done: sd^2 = execution^2 + rest^2


PredictedAsDone: TypeAlias = AsDone | Mapping[str, AsDone]  # of the only outcome, or of several by name
Predicted: TypeAlias = Prediction | Mapping[str, Prediction]  # of the only outcome, or of several by name
Seen: TypeAlias = float | Mapping[str, float]  # alike


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
    """An experiment to run next: a mapping of parameter to value.

    Two suggestions are equal if they have the same id, values, predictions and note. To any other mapping a suggestion
    is equal by its values.
    """

    id: str
    values_by_name: Mapping[str, Known]
    predicted: Predicted | None = None  # if it is done exactly; None without a model
    note: str = ""
    as_done: PredictedAsDone | None = None  # None where equipment does what it is asked

    def __getitem__(self, name: str) -> Known:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Suggestion):
            return super().__eq__(other)
        mine, others = ((one.id, dict(one), one.predicted, one.note, one.as_done) for one in (self, other))
        return mine == others

    def __hash__(self) -> int:
        return hash((self.id, frozenset(self.items())))

    def __repr__(self) -> str:
        expected = f", predicted={shown(self.predicted)}" if self.predicted else ""
        done = f", as_done={shown(self.as_done)}" if self.as_done else ""
        note = f", note={self.note!r}" if self.note else ""
        return f"Suggestion({dict(self)}, id={self.id!r}{expected}{done}{note})"

    def _repr_html_(self) -> str:
        rows = [(name, cells.text(value)) for name, value in self.items()]
        rows += [(f"expected {name}".strip(), text) for name, text in _expected(self.predicted)]
        rows += [(f"expected {name}".strip() + " as done", text) for name, text in _expected(self.as_done)]
        return html_table(f"Suggestion {self.id}", ("", "value"), rows, self.note)


def by_name(value: T | Mapping[str, T], outcomes: Sequence[str]) -> Mapping[str, T]:
    """What is said of each outcome, by name, whether there is only one or several."""
    return value if isinstance(value, Mapping) else {outcomes[0]: value}


def _expected(predicted: Predicted | PredictedAsDone | None) -> list[tuple[str, str]]:
    """What is expected of each outcome, in short; the only one has no name here."""
    each: Mapping[str, Prediction | AsDone] = {} if predicted is None else by_name(predicted, [""])
    return [(name, _rounded(one)) for name, one in each.items()]


def _rounded(predicted: Prediction | AsDone) -> str:
    """Mean and standard deviation to two digits of the latter.

    >>> _rounded(Prediction(1234.56, 0.789))
    '1234.56 ± 0.79'
    """
    digits = 1 - math.floor(math.log10(predicted.sd)) if predicted.sd > 0 else 6
    return f"{cells.number_text(round(predicted.mean, digits))} ± {predicted.sd:.2g}"


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A small table for a notebook."""
    cell = "style='text-align: left'"
    head = "".join(f"<th {cell}>{escape(text)}</th>" for text in header)
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    below = f"<div>{escape(note)}</div>" if note else ""
    return f"<div><b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def shown(predicted: Predicted | PredictedAsDone) -> str:
    """A prediction in short."""
    if isinstance(predicted, Mapping):
        return "{" + ", ".join(f"{name!r}: {shown(one)}" for name, one in predicted.items()) + "}"
    return f"{predicted.mean:.4g}±{predicted.sd:.2g}"


@dataclass(frozen=True)
class Best:
    """The setting to ask for, and beside it the best outcome seen with what is known of its inputs."""

    setting: Mapping[str, Known] | None
    predicted: Predicted | None  # if it is done exactly; None without a model
    seen: Seen
    seen_at: Mapping[str, Cell]
    seen_known: bool
    note: str = ""
    seen_row: int | None = None  # counted from 0, in the order told
    as_done: PredictedAsDone | None = None  # None where equipment does what it is asked

    def _repr_html_(self) -> str:
        setting = self.setting or {}
        rows = [
            (name, cells.text(setting[name]) if name in setting else "", cells.text(cell))
            for name, cell in self.seen_at.items()
        ]
        seen = self.seen if isinstance(self.seen, Mapping) else {"": self.seen}
        expected = dict(_expected(self.predicted))
        rows += [(f"outcome {name}".strip(), expected.get(name, ""), f"{y:.4g}") for name, y in seen.items()]
        rows += [(f"outcome {name}".strip() + " as done", text, "") for name, text in _expected(self.as_done)]
        return html_table("Best", ("", "recommended", "best seen"), rows, self.note)


@dataclass(frozen=True)
class Front(Best):
    """The best trade-offs between several outcomes, as a list of `Best`; itself the one in the middle.

    No setting is expected to be better than one of these in every outcome. Each has beside it the row that came
    nearest to the same trade-off. They are in the order of the first outcome, the best of it last.
    """

    choices: tuple[Best, ...] = ()

    def _repr_html_(self) -> str:
        names = list(self.seen_at)
        outcomes = list(self.seen) if isinstance(self.seen, Mapping) else [""]
        rows = [
            [
                *(cells.text(one.setting[name]) if one.setting else "" for name in names),
                *(dict(_expected(one.predicted)).get(name, "") for name in outcomes),
            ]
            for one in self.choices
        ]
        header = (*names, *(f"expected {name}".strip() for name in outcomes))
        return html_table("Best trade-offs", header, rows, self.note)

    def __iter__(self) -> Iterator[Best]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __getitem__(self, place: int) -> Best:
        return self.choices[place]
