"""What is best: the setting to ask for beside the best row seen, how far luck may have a part in it, and its rivals.

J outcomes, Q worlds, n rows, w trade-offs, d columns of the unit cube
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from bomi.answers.predict import expectations
from bomi.answers.recommend import Risk, recommended, shortlist_of, trade_offs
from bomi.data.objectives import keeps_limits
from bomi.data.observations import Row
from bomi.errors import TableError
from bomi.knowledge import Knowledge
from bomi.learning import Fit
from bomi.results import AsDone, Best, Front, Prediction, by_name
from bomi.search import acquisition
from bomi.search.choices import Choices
from bomi.space.cells import Known

Told = TypeVar("Told", Prediction, AsDone)

RESAMPLED = 100  # sets of outcomes, for the part that luck has in what looks best
RIVALS = 64  # rows that might have looked best instead
COMPARED, MOST_RIVALS = 8, 3  # of them that are looked at, and that are named
ELSEWHERE = 0.05  # of a range: less far away, it is the same setting
MAYBE = 0.2  # a chance to be better that leaves open which is
SAMPLES = 1024  # of the outcomes at two places, in each world
NEAR = 200, 0.05  # places around the best rows that might have, and how far from these


def best_of(known: Knowledge, choices: Choices, risk: Risk) -> Best:
    """The setting to ask for, beside the best row seen; of several outcomes a `Front`."""
    done, merits = _merits(known)
    weights = trade_offs(len(known.wanted))
    if len(known.wanted) > 1:
        return _front(known, choices, risk, done, merits, weights)
    return _recommendation(known, choices, risk, done[int(merits[:, 0].argmax())], weights[0])


def _merits(known: Knowledge) -> tuple[list[int], Tensor]:
    """The places of the rows with all outcomes, and how good these are; without those taken for wrong, and without
    those that break a limit, unless all do.  r, (r, J)"""
    rows = known.observations.rows
    done = [place for place, row in enumerate(rows) if row.tried and len(row.outcomes) == len(known.outcomes)]
    if not done:
        what = "outcome" if len(known.outcomes) == 1 else "experiment with all of its outcomes"
        raise TableError(f"there is no best yet: no {what} has been told")
    if known.has_model:
        wrong = dict(zip(known.tried_numbers, known.fit.wrong.any(0).tolist(), strict=True))
        done = [place for place in done if not wrong[place]] or done
    done = [place for place in done if keeps_limits(known.objectives, rows[place].outcomes)] or done
    merits = [[one.merit(rows[place].outcomes[one.name]) for one in known.wanted] for place in done]
    return done, torch.tensor(merits, dtype=torch.float64)


def _recommendation(
    known: Knowledge, choices: Choices, risk: Risk, place: int, weights: Tensor, shortlist: Tensor | None = None
) -> Best:
    """The setting recommended for a trade-off, beside the row seen, which is called by its place.  weights: (J,)"""
    seen = known.observations.rows[place]
    outcomes = dict(seen.outcomes) if len(known.outcomes) > 1 else seen.outcomes[known.outcomes[0]]
    row = dict(seen.recorded), seen.complete
    broken = "" if keeps_limits(known.objectives, seen.outcomes) else "no row keeps all limits"
    if not known.has_model:
        setting, note = (None, f"no model, and {broken}") if broken else _as_seen(seen, choices)
        return Best(setting, None, outcomes, *row, note, place)
    seed = known.seed_of_all_rows
    setting = choices.setting(recommended(known.fit, weights, risk, seed=seed, shortlist=shortlist, choices=choices))
    (predicted,), (as_done,) = expectations(known, [setting])
    if isinstance(predicted, Prediction):
        predicted = _with_luck(known, predicted, setting)
    if isinstance(as_done, AsDone):
        as_done = _with_luck(known, as_done, setting)
    others: tuple[tuple[int, float], ...] = ()
    if choices.all:
        numbers = known.tried_numbers
        found = rivals(known.fit, known.typical_place(setting), seed=seed)
        others = tuple((numbers[row], chance) for row, chance in found)
    return Best(setting, predicted, outcomes, *row, broken, place, as_done, others)


def _as_seen(seen: Row, choices: Choices) -> tuple[dict[str, Known] | None, str]:
    """What to recommend without a model: the best row seen, if it can be asked for; and a note."""
    space, known = choices.space, seen.known
    chosen = [name for name in space.names if name in choices.given or name not in space.measured]
    if space.broken(known):
        return None, "no model, and the best row seen breaks a constraint"
    if not known.keys() >= {*chosen}:
        return None, "no model, and the best row seen has gaps"
    setting = {name: known[name] for name in chosen}
    if choices.given.items() - setting.items() or choices.listed is not None:
        return None, "no model, and the best row seen is not among what there is to choose from"
    return setting, "no model: the best row seen"


def _front(
    known: Knowledge, choices: Choices, risk: Risk, done: Sequence[int], merits: Tensor, weights: Tensor
) -> Front:
    """The best trade-offs, in the order of the first outcome; the equal one stands for all.

    merits: (r, J), weights: (w, J)
    """
    span = (merits.amax(0) - merits.amin(0)).clamp_min(1e-300)
    found: list[Best] = []
    shortlist = None
    if known.has_model:
        shortlist = shortlist_of(known.fit, weights, choices, risk, seed=known.seed_of_all_rows)
    for each in weights:
        seen = done[int(acquisition.chebyshev((merits - merits.amax(0)) / span, each).argmax())]
        # The first is sought from nothing; neighbours on the front are near each other.
        found.append(_recommendation(known, choices, risk, seen, each, shortlist if found else None))
        if shortlist is not None:
            place = torch.from_numpy(known.space.places([found[-1].setting or {}]))
            shortlist = torch.cat([shortlist, choices.points(place)])
    usable = [best for best in found if best.setting is not None]
    if not usable:
        return Front(**vars(found[-1]))
    if known.has_model:
        places = torch.from_numpy(known.space.places([best.setting or {} for best in usable]))
        with torch.no_grad():
            expected = known.fit.outlook_at(places, risk.done(known.fit)).merits(places, risk.worst)
    else:
        seen_outcomes = [by_name(best.seen, known.outcomes) for best in usable]
        expected = torch.tensor([[one.merit(each[one.name]) for one in known.wanted] for each in seen_outcomes])
    kept = acquisition.undominated(expected).nonzero()[:, 0].tolist()
    kept.sort(key=lambda i: float(expected[i, 0]))
    middle = usable[kept[len(kept) // 2]]
    return Front(**vars(middle), choices=tuple(usable[i] for i in kept))


def _with_luck(known: Knowledge, predicted: Told, setting: Mapping[str, Known]) -> Told:
    """A prediction of what was chosen for looking best, with the part that luck may have in that."""
    fit, (objective,) = known.fit, known.objectives
    slope = fit.transforms[0].slope(torch.tensor(objective.sign * predicted.mean, dtype=torch.float64))
    part = luck(fit, known.typical_place(setting), seed=known.seed_of_all_rows)
    return predicted._replace(sd=math.hypot(predicted.sd, part / float(slope)))


def luck(fit: Fit, best: Tensor, *, seed: int) -> float:
    """How much of what is expected at the best place may be luck, as a standard deviation on the model's scale.

    A place is recommended because it looks best, and where outcomes are noisy, noise has a part in that. A parametric
    bootstrap (Efron and Tibshirani 1993) says how large a part: outcomes are drawn anew around what each world expects
    of its rows, and the largest mean that they give is compared with what is expected in its place today. 0 where there
    are several outcomes or an aim.  best: (d,)
    """
    if len(fit.models) > 1 or fit.aims[0] is not None:
        return 0.0
    (model,), rng = fit.models, torch.Generator().manual_seed(seed)
    expected = model.fitted()  # (Q, n)
    rivals = fit.measured[0, expected.mean(0).topk(min(RIVALS, expected.shape[1])).indices]
    count, far = NEAR
    around = fit.good_rows[torch.randint(len(fit.good_rows), (count,), generator=rng)]
    near = (around + far * torch.randn(around.shape, generator=rng, dtype=torch.float64)).clamp(0, 1)
    places = torch.cat([best[None], rivals, near])
    noise = torch.randn(expected.shape[1], RESAMPLED, generator=rng, dtype=torch.float64)
    spread = model.variances.cpu().sqrt().expand_as(expected)
    with torch.no_grad():
        today = model.means(places).mean(0)  # (m,)
        resampled = model.means_of(places, expected.unsqueeze(-1) + spread.unsqueeze(-1) * noise).mean(0)  # (m, b)
    found, where = resampled.max(0)
    return max(float((found - today[where]).mean()), 0.0)


def rivals(fit: Fit, best: Tensor, *, seed: int) -> list[tuple[int, float]]:
    """Complete rows of the table elsewhere that may be better than the best place, and how likely each is to be.

    Only the likeliest few; none where there are several outcomes.  best: (d,)
    """
    if len(fit.models) > 1:
        return []
    (model,), (aim,), worlds = fit.models, fit.aims, fit.completed
    measured = (~fit.failed).nonzero()[:, 0]
    rows = worlds.table_rows[measured]
    complete = (~fit.table.gaps.any(-1)[rows]).nonzero()[:, 0]
    expected = fit.outlook.tried[..., 0].mean(0)[complete]  # (r,)
    places: list[Tensor] = [best]
    numbers: list[int] = []
    for at in complete[expected.argsort(descending=True)[:RIVALS]].tolist():
        here = worlds.inputs[0, measured[at]]
        if len(numbers) < COMPARED and all(float((here - other).abs().max()) >= ELSEWHERE for other in places):
            places.append(here)
            numbers.append(int(rows[at]))
    with torch.no_grad():
        drawn = model.draws(torch.stack(places), SAMPLES, torch.Generator().manual_seed(seed))
    merits = acquisition.merit(drawn, aim)  # (S, Q, 1 + r)
    chances = (merits[..., 1:] > merits[..., :1]).double().mean((0, 1)).tolist()
    likely = sorted(zip(numbers, chances, strict=True), key=lambda each: -each[1])
    return [(number, chance) for number, chance in likely[:MOST_RIVALS] if chance >= MAYBE]
