"""What an optimizer answers: predictions, suggestions, what is best, draws of gaps.

The module is long because these values stand together: small classes that compute nothing but how they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bomi.space import Array, cells
from bomi.space.cells import Cell, Known

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
FEWEST = 8  # rows by which a model can be judged
CHANCE = 0.05  # at most so likely must it be that noise alone is explained as well
NAMED = 3  # outcomes that cannot be believed
NARROW = 0.7  # share of rows within their 90 % intervals: with fewer, the intervals are too narrow
WIDTH = 1.645  # standard deviations, to either side, of an interval that holds 90 %


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
AnyPrediction: TypeAlias = Predicted | PredictedAsDone | None  # of a setting, done exactly or as the equipment does it
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
    """An experiment to run next: a mapping of parameter to value. What nobody knows of a candidate it lacks.

    Two suggestions are equal if they have the same id, values, predictions and note. To any other mapping a suggestion
    is equal by its values.
    """

    id: str
    values_by_name: Mapping[str, Known]
    predicted: Predicted | None = None  # if it is done exactly; None without a model
    note: str = ""
    candidate: int | str | None = None  # of a list: its place from 0; of a file: its id, or its line
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
        expected = f", predicted={_short(self.predicted)}" if self.predicted else ""
        done = f", as_done={_short(self.as_done)}" if self.as_done else ""
        note = f", note={self.note!r}" if self.note else ""
        chosen = "" if self.candidate is None else f", candidate={self.candidate!r}"
        return f"Suggestion({dict(self)}, id={self.id!r}{expected}{done}{note}{chosen})"

    def _repr_html_(self) -> str:
        rows = [(name, cells.text(value)) for name, value in self.items()]
        rows += [(f"expected {name}".strip(), text) for name, text in _expected(self.predicted)]
        rows += [(f"expected {name}".strip() + " as done", text) for name, text in _expected(self.as_done)]
        return html_table(f"Suggestion {self.id}", ("", "value"), rows, self.note)


def by_name(value: T | Mapping[str, T], outcomes: Sequence[str]) -> Mapping[str, T]:
    """What is said of each outcome, by name, whether there is only one or several."""
    return value if isinstance(value, Mapping) else {outcomes[0]: value}


def _expected(predicted: AnyPrediction) -> list[tuple[str, str]]:
    """What is expected of each outcome, in short; the only one has no name here."""
    each: Mapping[str, Prediction | AsDone] = {} if predicted is None else by_name(predicted, [""])
    return [(name, rounded(one)) for name, one in each.items()]


def rounded(predicted: Prediction | AsDone) -> str:
    """Mean and standard deviation, both to two digits of the latter.

    >>> rounded(Prediction(1234.56, 0.789)), rounded(Prediction(58.63, 6.0)), rounded(Prediction(-15234, 1612))
    ('1234.56 ± 0.79', '58.6 ± 6.0', '-15200 ± 1600')
    """
    mean, sd = float(predicted.mean), float(predicted.sd)
    if not 1e-6 < sd < 1e7:
        return f"{mean:.6g} ± {sd:.2g}"
    place = 1 - math.floor(math.log10(float(f"{sd:.1e}")))  # of the second digit, as decimals
    return f"{round(mean, place):.{max(place, 0)}f} ± {round(sd, place):.{max(place, 0)}f}"


def capitalized(text: str) -> str:
    """A text with a capital letter at its start, the others as they are."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.688)
    '69 %'
    """
    return f"{100 * share:.0f} %"


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A small table for a notebook."""
    cell = "style='text-align: left'"
    head = "".join(f"<th {cell}>{escape(text)}</th>" for text in header)
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    below = f"<div>{escape(note)}</div>" if note else ""
    return f"<div><b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _short(predicted: Predicted | PredictedAsDone) -> str:
    """A prediction in short."""
    if isinstance(predicted, Mapping):
        return "{" + ", ".join(f"{name!r}: {_short(one)}" for name, one in predicted.items()) + "}"
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
    rivals: tuple[tuple[int, float], ...] = ()  # rows elsewhere that may be better, counted from 0, with the chance

    def apart(self, labels: Sequence[object] | None = None) -> str:
        """That the best few cannot be told apart, where that is so; `labels` name the rows."""
        if not self.rivals:
            return ""
        each = [
            f"{percent(chance)} for {f'row {row}' if labels is None else labels[row]}" for row, chance in self.rivals
        ]
        several = len(each) > 1
        told = f"{', '.join(each[:-1])} and {each[-1]}" if several else each[0]
        return (
            f"the best few cannot be told apart: the chance to be better than what is recommended is {told}; "
            f"repeat {'these' if several else 'it'} to find out"
        )

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
        note = "; ".join(said for said in (self.note, self.apart()) if said)
        return html_table("Best", ("", "recommended", "best seen"), rows, note)


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


STOP = 0.0015  # of the outcomes' spread: a smaller gain of the next experiment is not worth one
QUIET = 8  # experiments in a row without anything better, before it is believed that nothing is left to find


@dataclass(frozen=True)
class Prospects:
    """What going on is expected to gain, in the outcome's unit. Rows are counted from 0, in the order told."""

    outcome: str
    unit: str
    gains: Mapping[int, float]  # of the next 1, 5 and 10 experiments together
    look_up: tuple[int, str, float] | None  # the row and parameter of the gap most worth knowing, and what that gains
    repeat: tuple[int, float] | None  # the row most worth repeating, and what that gains
    spread: float  # of the outcomes so far, from 5 to 95 %
    since: int  # how many experiments were made since the best so far, or one nearly as good
    cost: float | None  # of an experiment, where one is stated
    trusted: bool  # whether the model is

    @property
    def stop(self) -> bool:
        """Whether no number of experiments is worth its price."""
        if not self.trusted:
            return False
        if self.cost is not None:
            return all(gain <= count * self.cost for count, gain in self.gains.items())
        return self.gains[1] < STOP * self.spread and self.since >= QUIET

    @property
    def action(self) -> str:
        """What to do: "look up", "repeat", "go on" or "stop"."""
        least = self.cost or STOP * self.spread
        next_one = 0.0 if self.stop else self.gains[1]
        if self.trusted and self.look_up is not None and self.look_up[2] > max(next_one, least):
            return "look up"
        if self.trusted and self.repeat is not None and self.repeat[1] > max(next_one, least):
            return "repeat"
        return "stop" if self.stop else "go on"

    def advice(self, labels: Sequence[object] | None = None) -> str:
        """One line; `labels` name the rows."""

        def called(row: int) -> str:
            return f"row {row}" if labels is None else str(labels[row])

        next_one = f"the next experiment is expected to gain {self.told(self.gains[1])}"
        if self.action == "look up" and self.look_up is not None:
            row, parameter, gain = self.look_up
            return f"look up {parameter} of {called(row)}: knowing it is expected to gain {self.told(gain)}; {next_one}"
        if self.action == "repeat" and self.repeat is not None:
            row, gain = self.repeat
            return f"repeat {called(row)}: a second outcome is expected to gain {self.told(gain)}; {next_one}"
        ten = f"ten are expected to gain {self.told(self.gains[max(self.gains)])}"
        if self.action == "stop":
            price = "that is less than they cost" if self.cost is not None else "hardly anything is left to find"
            return f"stop: {next_one}, and {ten}: {price}"
        reason = "" if self.trusted else "; but the model is not to be trusted yet"
        return f"go on: {next_one}, and {ten}{reason}"

    def told(self, gain: float) -> str:
        """A gain with its unit."""
        digits = 0.0 if gain < 1e-3 * self.spread else float(f"{gain:.2g}")
        return f"{digits:g} {self.unit}".strip()


@dataclass(frozen=True)
class Explanation:
    """What a prediction rests on. Rows are counted from 0, in the order told."""

    predicted: Prediction
    chance: float  # to be better than what is expected of the best row; of several outcomes, to be beaten by no row
    rows: tuple[tuple[int, float], ...]  # with how far each moves what is expected, the largest first
    gaps: tuple[tuple[int, str, float], ...]  # with the part of the uncertainty that hangs on each, the largest first


@dataclass(frozen=True, eq=False)
class Validation:
    """Every row's outcome beside what is expected of it from all other rows, with 90 % intervals."""

    outcome: str
    unit: str
    rows: tuple[int, ...]  # counted from 0, in the order told
    measured: Array  # (n,)
    mean: Array  # (n,)
    low: Array  # (n,) 5 %
    high: Array  # (n,) 95 %
    explained: float  # share of the variation, on the model's scale: 1 is all of it, 0 or less is none
    wrong: tuple[int, ...] = ()  # rows whose outcome cannot be believed: they do not count below
    chance: float = 0.0  # how likely it is that noise alone is explained as well

    @property
    def error(self) -> float:
        """The mean distance between what was expected and what was measured."""
        return float(np.abs(self.measured - self.mean)[self._counted].mean())

    @property
    def inside(self) -> int:
        """How many rows lie within their intervals."""
        return int(((self.low <= self.measured) & (self.measured <= self.high))[self._counted].sum())

    @property
    def _counted(self) -> NDArray[np.bool_]:
        return ~np.isin(self.rows, self.wrong)

    @property
    def trusted(self) -> bool:
        """Whether the model has shown that it knows more than chance."""
        return int(self._counted.sum()) >= FEWEST and self.chance <= CHANCE

    @property
    def sentence(self) -> str:
        """What to think of the model, in one sentence."""
        count = int(self._counted.sum())
        if count < FEWEST:
            rows = f"{count} row{'' if count == 1 else 's'}"
            return f"{rows} with {self.outcome} cannot show yet whether the model is right: about {FEWEST} are needed"
        if not self.trusted:
            return (
                f"these {count} outcomes of {self.outcome} cannot be told from noise: "
                "suggestions are near random until more is known"
            )
        error = f"{self.error:.2g}" if self.error < 100 else f"{self.error:.0f}"
        narrow = "; its intervals are too narrow" if self.inside < NARROW * count else ""
        share = "nearly all" if self.explained > 0.995 else percent(self.explained)
        return (
            f"the model explains {share} of what varies in {self.outcome}; errors of about "
            f"{' '.join([error, self.unit]).strip()}; {self.inside} of {count} within their 90 % interval{narrow}"
        )

    @property
    def doubt(self) -> str:
        """The sentence, while it is bad news, and outcomes that cannot be believed."""
        return "; ".join(said for said in ("" if self.trusted else self.sentence, self.disbelief) if said)

    @property
    def disbelief(self) -> str:
        """Which outcomes cannot be believed, if some cannot."""
        if not self.wrong:
            return ""
        told = dict(zip(self.rows, self.measured.tolist(), strict=True))
        named = [f"{told[row]:.6g} in row {row}" for row in self.wrong[:NAMED]]
        more = f" and {len(self.wrong) - NAMED} more" if len(self.wrong) > NAMED else ""
        verb = "cannot be believed beside the other rows and has no say: look it up, or repeat it"
        if len(self.wrong) > 1:
            verb = "cannot be believed beside the other rows and have no say: look them up, or repeat them"
        return f"{self.outcome} of {', '.join(named)}{more} {verb}"

    @property
    def believed(self) -> Validation:
        """The same without the rows whose outcome cannot be believed: they would spoil the scale of a figure."""
        if not self.wrong:
            return self
        kept = self._counted
        rows = tuple(row for row, counts in zip(self.rows, kept.tolist(), strict=True) if counts)
        parts = {name: getattr(self, name)[kept] for name in ("measured", "mean", "low", "high")}
        return replace(self, rows=rows, wrong=(), **parts)

    @property
    def records(self) -> list[dict[str, float]]:
        """Row by row: its number, what was measured, what was expected and its interval."""
        names = ("row", "measured", "expected", "5 %", "95 %")
        numbers = (array.tolist() for array in (self.measured, self.mean, self.low, self.high))
        return [dict(zip(names, row, strict=True)) for row in zip(self.rows, *numbers, strict=True)]

    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        import pandas as pd

        return pd.DataFrame(self.records)

    def _repr_html_(self) -> str:
        digits = [[f"{value:.4g}" for value in record.values()] for record in self.records]
        return html_table(f"Validation of {self.outcome}", list(self.records[0]), digits, self.sentence)


# --- for programs ----------------------------------------------------------------------------------------------------


def plain(value: object) -> object:
    """What JSON can hold: NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if missing(value):
        return None
    return value.item() if hasattr(value, "item") else value


def missing(value: object) -> bool:
    """Whether there is nothing to print."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def nested(predicted: AnyPrediction) -> dict[str, Any] | None:
    """A prediction as JSON holds it."""
    if isinstance(predicted, Mapping):
        return {name: nested(one) for name, one in predicted.items()}
    return predicted._asdict() if predicted else None


def expected(one: Suggestion | Best) -> dict[str, Any]:
    """What is expected of a setting as JSON holds it: if it is done exactly, and as the equipment does it."""
    return {
        "predicted": nested(one.predicted),
        **({} if one.as_done is None else {"as_done": nested(one.as_done)}),
    }
