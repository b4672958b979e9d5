"""Equipment that strays: what comes of planning for it, and whether what is learned of it is right.

    PYTHONPATH=src python perf/execution.py problems --out problems.jsonl --jobs 16
    PYTHONPATH=src python perf/execution.py coverage --out coverage.jsonl --jobs 16
    PYTHONPATH=src python perf/execution.py paper --out paper.jsonl --jobs 16

problems  Six problems whose equipment strays, each in its own way, and one where nothing does. A campaign starts with 8
          space-filling requests and makes 32 more. Printed is the true expected outcome of asking for the recommended
          setting, over 4,000 draws of the equipment: mean and standard error over the repeats, the most that any
          request can give, and how likely such a difference to `asked` comes by chance (a paired t test). The luck of
          the equipment is the same for all contenders:

              asked    the method as it is; in one of four experiments what was done of a parameter is lost
              nominal  the same as if everything were done as asked, in planning and in what it recommends
              botorch  expected improvement with InputPerturbation, given the true error and complete rows

coverage  How often 90 % intervals of what will be done hold what is done, learned from 20, 50 and 200 rows.
paper     The robot and the heat treatment of Luong et al. 2020, by `posterior`: the best seen, the true value of asking
          for what is recommended, and how often the same outcome came in a row. The robot needs MuJoCo.

Repeats are seeds: `--first 0 --repeats 10`. Runs that the results file holds are not made again. Problems of this kind:
Bertsimas, Nohadani and Teo 2010; Bogunovic et al. 2018; Le and Branke 2020.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import qmc, ttest_rel

import bomi
from bomi.benchmarks.experiments import experiment
from bomi.benchmarks.problems import find_problem
from bomi.benchmarks.runner import run as benchmark
from bomi.data.observations import Row
from bomi.impute.completed import Completed
from bomi.impute.table import Table
from bomi.model.equipment import learn_execution
from bomi.space import Space
from bomi.space.cells import Cell, Known

Array = NDArray[np.float64]
Generator = np.random.Generator
FIRST, BUDGET = 8, 40
PERTURBATIONS = 16  # of each request, for BoTorch


class Run(NamedTuple):
    """What tells one run from the others."""

    part: str
    case: str
    contender: str
    repeat: int


@dataclass(frozen=True)
class Problem:
    """An outcome, and equipment; both take many settings at a time, a category as its index."""

    space: dict[str, object]
    outcome: Callable[[Array], Array]  # (m, p) -> (m,)
    equipment: Callable[[Array, Generator], Array]  # asked (m, p) -> done (m, p)

    @property
    def words(self) -> dict[int, int]:
        """How many categories a parameter has, by its place."""
        return {j: len(ends) for j, ends in enumerate(self.space.values()) if isinstance(ends, list)}

    def inputs(self, setting: Mapping[str, Known]) -> Array:
        """(p,)"""
        return np.array(
            [
                ends.index(setting[name]) if isinstance(ends, list) else setting[name]
                for name, ends in self.space.items()
            ],
            dtype=float,
        )

    def setting(self, inputs: Array) -> dict[str, Known]:
        """The other way round."""
        each = zip(self.space.items(), inputs, strict=True)
        return {name: ends[round(x)] if isinstance(ends, list) else float(x) for (name, ends), x in each}

    def expected(self, asked: Array, seed: int = 0) -> float:
        """The true expected outcome of a request."""
        return float(self.outcome(self.equipment(np.tile(asked, (4000, 1)), np.random.default_rng(seed))).mean())

    def most(self) -> float:
        """The best that any of many requests gives."""
        points = np.array([self.inputs(self.setting(x)) for x in self.spread(1024, 1)])
        rough = [self.outcome(self.equipment(np.tile(x, (200, 1)), np.random.default_rng(0))).mean() for x in points]
        return max(self.expected(points[i]) for i in np.argsort(rough)[-20:])

    def spread(self, count: int, seed: int) -> Array:
        """Space-filling settings.  (count, p)"""
        unit = qmc.Sobol(len(self.space), seed=seed).random(count)
        columns = [
            np.floor(u * len(ends)) if isinstance(ends, list) else ends[0] + u * (ends[1] - ends[0])
            for u, ends in zip(unit.T, self.space.values(), strict=True)
        ]
        return np.stack(columns, -1)


def bell(x: Array, center: float, width: float) -> Array:
    """A bell of height 1."""
    return np.exp(-0.5 * ((x - center) / width) ** 2)


def ridge(x: Array) -> Array:
    """A ridge of 1.4 that is narrow in the first parameter, beside a broad hill of 1."""
    hill = bell(x[:, 0], 0.3, 0.18) * bell(x[:, 1], 0.4, 0.3)
    return 1.4 * bell(x[:, 0], 0.75, 0.05) * bell(x[:, 1], 0.6, 0.3) + hill


def bowl(x: Array) -> Array:
    """A bowl with a bump at its rim that is higher than its middle."""
    away = np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5)
    return 1 - 2.5 * away**2 + 0.9 * bell(x[:, 0], 0.8, 0.08) * bell(x[:, 1], 0.7, 0.15)


def hot(x: Array) -> Array:
    """The hotter the better, up to a cliff."""
    return x[:, 0] * (1 / (1 + np.exp((x[:, 0] - 0.85) / 0.015))) * (0.5 + 0.5 * bell(x[:, 1], 0.5, 0.3))


def saturating(asked: Array, rng: Generator) -> Array:
    """The first parameter stops at 0.6, give or take a little."""
    done = asked.copy()
    done[:, 0] = np.where(asked[:, 0] > 0.6, 0.6 + rng.normal(0, 0.02, len(asked)), asked[:, 0])
    return done


def peak_at(first: float) -> Callable[[Array], Array]:
    """A peak that cannot be reached by the second parameter alone."""
    return lambda x: bell(x[:, 0], first, 0.12) * (0.4 + 0.6 * bell(x[:, 1], 0.2 + 0.6 * x[:, 0], 0.1))


def detour(asked: Array, rng: Generator) -> Array:
    """Requests for a region end at its lower left corner."""
    inside = (np.abs(asked - 0.7) < 0.15).all(-1)
    return np.where(inside[:, None], rng.normal(0.5, 0.01, asked.shape), asked)


def off(size: Callable[[Array], Array] | float, sided: bool = False) -> Callable[[Array, Generator], Array]:
    """Errors of the first parameter, of a size that may depend on what was asked."""

    def equipment(asked: Array, rng: Generator) -> Array:
        done = asked.copy()
        sizes = size(asked[:, 0]) if callable(size) else size
        error = (
            rng.exponential(1, len(asked)) * (rng.random(len(asked)) < 0.5) if sided else rng.normal(size=len(asked))
        )
        done[:, 0] = np.clip(asked[:, 0] + sizes * error, 0, 1)
        return done

    return equipment


def swapped(asked: Array, rng: Generator) -> Array:
    """Who asks for oil gets water in two of five experiments."""
    done = asked.copy()
    done[:, 1] = np.where((asked[:, 1] == 0) & (rng.random(len(asked)) < 0.4), 1, asked[:, 1])
    return done


def baths(x: Array) -> Array:
    """Oil is the best, water is the worst, air is nearly as good as oil."""
    return np.array([1.0, 0.1, 0.85])[x[:, 1].astype(int)] * bell(x[:, 0], 0.6, 0.2)


PLANE: dict[str, object] = {"u": (0.0, 1.0), "v": (0.0, 1.0)}
PROBLEMS = {
    "constant spread, ridge and hill": Problem(PLANE, ridge, off(0.1)),
    "spread grows, bumped bowl": Problem(PLANE, bowl, off(lambda a: 0.25 * a)),
    "saturates below the peak": Problem(PLANE, peak_at(0.75), saturating),
    "one-sided, near a cliff": Problem(PLANE, hot, off(0.08, sided=True)),
    "a forbidden region": Problem(
        PLANE, lambda x: bell(x[:, 0], 0.7, 0.15) * bell(x[:, 1], 0.7, 0.15) + 0.3 * x[:, 0], detour
    ),
    "a swapped category": Problem({"u": (0.0, 1.0), "bath": ["oil", "water", "air"]}, baths, swapped),
    "nothing strays": Problem(PLANE, ridge, lambda asked, rng: asked),
}


# --- the contenders ---------------------------------------------------------------------------------------------------


class Ours:
    """`posterior`, planning for the equipment or not."""

    def __init__(self, problem: Problem, seed: int, planned: bool) -> None:
        self.problem, self.planned = problem, planned
        method = replace(bomi.METHODS["posterior"], execution=planned)
        self.optimizer = bomi.Optimizer(problem.space, method=method, seed=seed)

    def ask(self) -> Array:
        """What to ask for next."""
        self.suggestion = self.optimizer.ask()
        return self.problem.inputs(self.suggestion)

    def tell(self, asked: Array, done: Array, outcome: float, lost: str | None) -> None:
        """What was done, but for what was lost."""
        recorded: dict[str, Cell] = dict(self.problem.setting(done))
        if lost is not None:
            recorded[lost] = None
        if len(self.optimizer.observations.rows) < FIRST:
            self.optimizer.tell_rows([Row(recorded, {"y": outcome}, self.problem.setting(asked))])
        else:
            self.optimizer.tell(self.suggestion, outcome, actual=recorded)

    def recommend(self) -> Array:
        """What to ask for in the end."""
        best = self.optimizer.best("expected" if self.planned else "nominal").setting
        assert best is not None
        return self.problem.inputs(best)


class Botorch:
    """A plain BoTorch campaign that knows the equipment and is told complete rows."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.asked: list[Array] = []
        self.done: list[Array] = []
        self.outcomes: list[float] = []

    def tell(self, asked: Array, done: Array, outcome: float, lost: str | None) -> None:
        """All that was done."""
        self.asked.append(asked)
        self.done.append(done)
        self.outcomes.append(outcome)

    def _perturbations(self, requests: torch.Tensor) -> torch.Tensor:
        """True errors of requests, by the same luck for all of them.  (..., n, d) -> (..., n, W, d)"""
        asked = requests.detach().reshape(-1, requests.shape[-1]).numpy()
        each = [self.problem.equipment(asked, np.random.default_rng(k)) for k in range(PERTURBATIONS)]
        errors = torch.from_numpy(np.stack(each, 1) - asked[:, None])
        return errors.reshape(*requests.shape[:-1], PERTURBATIONS, requests.shape[-1])

    def _model(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.models.transforms.input import InputPerturbation
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(np.array(self.done), dtype=torch.float64)
        Y = torch.tensor(self.outcomes, dtype=torch.float64)[:, None]
        errors = InputPerturbation(self._perturbations)
        words = list(self.problem.words)
        if words:
            model = MixedSingleTaskGP(X, Y, words, input_transform=errors)
        else:
            model = SingleTaskGP(X, Y, input_transform=errors)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _maximize(self, acquisition: Any) -> Array:
        from botorch.optim import optimize_acqf, optimize_acqf_mixed

        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).repeat(1, len(self.problem.space))
        words = self.problem.words
        if words:
            bounds[1, list(words)] = torch.tensor([count - 1.0 for count in words.values()], dtype=torch.float64)
            fixed = [dict(zip(words, each, strict=True)) for each in itertools.product(*map(range, words.values()))]
            point, _ = optimize_acqf_mixed(acquisition, bounds, 1, 4, fixed, raw_samples=128)
        else:
            point, _ = optimize_acqf(acquisition, bounds, 1, num_restarts=6, raw_samples=256)
        found: Array = point[0].detach().numpy()
        return found

    def ask(self) -> Array:
        """What to ask for next."""
        from botorch.acquisition import LogExpectedImprovement
        from botorch.acquisition.objective import ExpectationPosteriorTransform

        torch.manual_seed(self.seed + 1000 * len(self.done))
        model, average = self._model(), ExpectationPosteriorTransform(PERTURBATIONS)
        requests = torch.tensor(np.array(self.asked), dtype=torch.float64)
        with torch.no_grad():
            best = model.posterior(requests, posterior_transform=average).mean.max()
        return self._maximize(LogExpectedImprovement(model, best, average))

    def recommend(self) -> Array:
        """The request of the largest expected posterior mean."""
        from botorch.acquisition import PosteriorMean
        from botorch.acquisition.objective import ExpectationPosteriorTransform

        torch.manual_seed(self.seed)
        return self._maximize(PosteriorMean(self._model(), ExpectationPosteriorTransform(PERTURBATIONS)))


CONTENDERS: dict[str, Callable[[Problem, int], Any]] = {
    "asked": lambda problem, seed: Ours(problem, seed, planned=True),
    "nominal": lambda problem, seed: Ours(problem, seed, planned=False),
    "botorch": Botorch,
}


def problem_run(run: Run) -> dict[str, Any]:
    """A whole campaign."""
    problem = PROBLEMS[run.case]
    contender = CONTENDERS[run.contender](problem, run.repeat)
    first = problem.spread(FIRST, run.repeat)
    spent = 0.0
    for t in range(BUDGET):
        rng = np.random.default_rng([run.repeat, t])
        start = time.process_time()
        asked = first[t] if t < FIRST else contender.ask()
        spent += time.process_time() - start
        done = problem.equipment(asked[None], rng)
        outcome = float(problem.outcome(done)[0] + rng.normal(0, 0.01))
        lost = str(rng.choice(list(problem.space))) if rng.random() < 0.25 else None
        contender.tell(asked, done[0], outcome, lost)
    best = contender.recommend()
    return {"recommended": best.tolist(), "true": problem.expected(best), "seconds": spent / (BUDGET - FIRST)}


def problem_table(records: list[dict[str, Any]]) -> Iterator[str]:
    """What comes of asking for what is recommended."""
    yield "| problem | " + " | ".join(CONTENDERS) + " | most | p, nominal | p, botorch | seconds a suggestion |"
    yield "| --- " * 8 + "|"
    for case, problem in PROBLEMS.items():
        found = {
            one: {r["repeat"]: r for r in records if (r["case"], r["contender"]) == (case, one)} for one in CONTENDERS
        }
        every = {r["repeat"] for r in records if r["case"] == case}
        common = sorted(every.intersection(*(each for each in found.values() if each)))
        if not common:
            continue
        values = {one: np.array([each[k]["true"] for k in common]) for one, each in found.items() if each}
        shown = [
            f"{values[one].mean():.3f} ± {values[one].std(ddof=1) / np.sqrt(len(common)):.3f}"
            if one in values and len(common) > 1
            else ""
            for one in CONTENDERS
        ]
        chances = []
        for other in ("nominal", "botorch"):
            paired = "asked" in values and other in values and len(common) > 1
            same = paired and np.ptp(values["asked"] - values[other]) == 0
            p = 1.0 if same else ttest_rel(values["asked"], values[other]).pvalue if paired else np.nan
            chances.append(f"{p:.2g}")
        seconds = [f"{np.mean([r['seconds'] for r in each.values()]):.2f}" for each in found.values() if each]
        yield f"| {case} | {' | '.join(shown)} | {problem.most():.3f} | {' | '.join(chances)} | {', '.join(seconds)} |"


# --- what is learned of the equipment ---------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Array, Generator], Array]] = {
    "constant": lambda a, rng: a + rng.normal(0, 0.05, len(a)),
    "growing": lambda a, rng: a + rng.normal(size=len(a)) * (0.01 + 0.12 * a),
    "saturating": lambda a, rng: np.minimum(a, 0.7) + rng.normal(0, 0.015, len(a)) * (a > 0.7),
    "one-sided": lambda a, rng: a - np.where(rng.random(len(a)) < 0.4, rng.exponential(0.08, len(a)), 0),
    "shifted": lambda a, rng: a + 0.1 + rng.normal(0, 0.02, len(a)),
}
ROWS = (20, 50, 200)


def coverage_run(run: Run) -> dict[str, Any]:
    """The share of requests of which the 90 % interval holds what is done; where equipment saturates, beyond that."""
    kind, rows = KINDS[run.case], int(run.contender)
    rng = np.random.default_rng(run.repeat)
    asked, points = rng.random(rows), rng.uniform(0.75 if run.case == "saturating" else 0, 1, 30)
    done = torch.from_numpy(kind(asked, rng))[:, None]
    table = Table(Space({"x": (0, 1)}), done, torch.from_numpy(asked)[:, None], torch.zeros(rows, dtype=torch.float64))
    execution = learn_execution(table, Completed(done[None], table.targets), seed=run.repeat)
    if execution is None:
        return {"inside": 0.0}
    likely, places = execution.branches(torch.from_numpy(points)[:, None])
    inside = []
    for weight, place, true in zip(likely[0].T.numpy(), places[0, ..., 0].T.numpy(), kind(points, rng), strict=True):
        order = place.argsort()
        levels = np.searchsorted(weight[order].cumsum(), [0.05, 0.95]).clip(max=len(place) - 1)
        low, high = place[order][levels]
        inside.append(low - 1e-3 <= true <= high + 1e-3)
    return {"inside": float(np.mean(inside))}


def coverage_table(records: list[dict[str, Any]]) -> Iterator[str]:
    """The mean over the repeats."""
    yield "| equipment | " + " | ".join(f"{rows} rows" for rows in ROWS) + " |"
    yield "| --- " * (len(ROWS) + 1) + "|"
    for case in KINDS:
        each = [[r["inside"] for r in records if (r["case"], r["contender"]) == (case, str(rows))] for rows in ROWS]
        yield f"| {case} | " + " | ".join(f"{np.mean(one):.0%}" if one else "" for one in each) + " |"


# --- the paper's two experiments --------------------------------------------------------------------------------------

PAPER = ("robot", "heat")


def paper_run(run: Run) -> dict[str, Any]:
    """One repeat of an experiment."""
    (case,) = experiment(run.case).cases
    problem, seed = find_problem(case.problem), run.repeat
    data = case.data(problem, seed)
    found = benchmark(problem, run.contender, budget=case.budget, seed=seed, missing=case.missing, initial=data)
    same = [len(list(group)) for _, group in itertools.groupby(found.outcomes)]
    return {
        "seen": found.best[-1],
        "recommended": found.recommended[-1][1],
        "in_a_row": max(same),
        "seconds": float(np.mean(found.seconds)),
    }


def paper_table(records: list[dict[str, Any]]) -> Iterator[str]:
    """Mean, standard error and the worst repeat."""
    yield "| experiment | method | repeats | best seen | the worst | recommended | the worst | same outcome in a row |"
    yield "| --- " * 8 + "|"
    for case, method in sorted({(r["case"], r["contender"]) for r in records}):
        own = [r for r in records if (r["case"], r["contender"]) == (case, method)]
        cells = [case, method, str(len(own))]
        for what in ("seen", "recommended"):
            values = np.array([r[what] for r in own], dtype=float)
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            cells += [f"{values.mean():.4g} ± {error:.2g}", f"{values.min():.4g}"]
        yield "| " + " | ".join([*cells, str(max(r["in_a_row"] for r in own))]) + " |"


# --- all of them ------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A selectable part."""

    work: Callable[[Run], dict[str, Any]]
    table: Callable[[list[dict[str, Any]]], Iterator[str]]
    cases: tuple[str, ...]
    contenders: tuple[str, ...]
    repeats: int


PARTS = {
    "problems": Part(problem_run, problem_table, tuple(PROBLEMS), tuple(CONTENDERS), 10),
    "coverage": Part(coverage_run, coverage_table, tuple(KINDS), tuple(map(str, ROWS)), 100),
    "paper": Part(paper_run, paper_table, PAPER, ("posterior",), 10),
}


def make(run: Run) -> dict[str, Any]:
    """One run, with one thread."""
    torch.set_num_threads(1)
    start = time.process_time()
    found = PARTS[run.part].work(run)
    return {**run._asdict(), **found, "cpu": time.process_time() - start}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--cases", help="some of the cases, with semicolons between them")
    parser.add_argument("--contenders", help="some of the contenders; of coverage numbers of rows, of paper methods")
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat, which is its seed")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    part = PARTS[options.part]
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    made = {tuple(record[name] for name in Run._fields) for record in records}
    repeats = range(options.first, options.first + (options.repeats or part.repeats))
    cases = options.cases.split(";") if options.cases else part.cases
    contenders = options.contenders.split(",") if options.contenders else part.contenders
    runs = [Run(options.part, *each) for each in itertools.product(cases, contenders, repeats)]
    waiting = sorted((run for run in runs if tuple(run) not in made), key=lambda run: run.repeat)
    with options.out.open("a") as file:
        for count, record in enumerate(parallel(waiting, options.jobs), 1):
            file.write(json.dumps(record) + "\n")
            file.flush()
            records.append(record)
            print(f"\r{count}/{len(waiting)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print("\n".join(part.table([record for record in records if record["part"] == options.part])))


def parallel(runs: list[Run], jobs: int) -> Iterator[dict[str, Any]]:
    """The finished runs, in any order."""
    if jobs == 1:
        yield from map(make, runs)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed

    with ProcessPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(make, run) for run in runs]):
            yield done.result()


if __name__ == "__main__":
    main()
