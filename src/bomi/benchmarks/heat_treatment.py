"""Heat treatment of an aluminium-scandium alloy: four stages in, the yield strength out.

Al3Sc precipitates nucleate, grow, coarsen and dissolve while the alloy passes through four isothermal stages of
temperature te_k (deg C) and time ti_k (s). Many particles of a few nanometres make the alloy strong. The model is the
numerical one of Kampmann and Wagner, which counts the particles in classes of radius.

    r, N      radius of a class (m) and the number of its particles in a cubic metre
    f         volume fraction of the precipitates
    x         scandium in the matrix, atom fraction; x_0 in the alloy, x_p in Al3Sc
    x_e(T)    solvus: the solubility beside a flat precipitate
    x_R(r)    the solubility beside a precipitate of radius r
    g         interface energy (J/m2)
    T, t      temperature (K) and time (s)

Sources: R. Wagner, R. Kampmann, P. W. Voorhees, Homogeneous second-phase precipitation (1991), for the
method; D. N. Seidman, E. A. Marquis, D. C. Dunand, Acta Mater. 50 (2002) 4021, for the strength of Al-Sc;
S. Fujikawa, Defect Diffus. Forum 143-147 (1997) 115, for diffusion; K. Deane et al., Metals 12 (2022) 975,
for the preset `deane`.

The module is long because it is one model, with its constants and presets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.constants import Avogadro, Boltzmann, R, elementary_charge, zero_Celsius
from scipy.linalg.lapack import dgtsv

from bomi.benchmarks.functions import number_within
from bomi.errors import BenchmarkError

Array: TypeAlias = npt.NDArray[np.float64]

TEMPERATURE_BOUNDS = {
    "te_1": (1.0, 100.0),
    "te_2": (1.0, 1000.0),
    "te_3": (1.0, 1000.0),
    "te_4": (1.0, 1000.0),
}
"""Allowed temperatures of the four stages, deg C."""

TIME_BOUNDS = dict.fromkeys(("ti_1", "ti_2", "ti_3", "ti_4"), (1.0, 21600.0))
"""Allowed times of the four stages, s."""

BOUNDS = TEMPERATURE_BOUNDS | TIME_BOUNDS
"""All eight parameters of a treatment."""

# The share of all scandium that the mass balance may lose or gain.
MASS_ERROR = 1e-9

# The largest relative changes in one time step: of the matrix solute, over that of the alloy, and of the mean radius,
# unless the fraction is too small to matter.
SOLUTE_STEP = 0.03
RADIUS_STEP = 0.02
SMALL_FRACTION = 3e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What the alloy and its precipitates are made of, in SI units."""

    # Composition, atom fractions.
    alloy_solute: float = 0.0018  # x_0: 0.3 wt% Sc
    precipitate_solute: float = 0.25  # x_p: Al3Sc

    # Solvus x_e = factor exp(-temperature / T): a published Al-Sc-Zr database within 3 %, 200 to 650 deg C.
    solvus_factor: float = 1.556
    solvus_temperature: float = 6207.0  # K

    # Diffusion of Sc in Al, D = factor exp(-energy / RT) (Fujikawa 1997).
    diffusion_factor: float = 5.31e-4  # m2/s
    diffusion_energy: float = 173e3  # J/mol

    # Lattice parameters; both lattices hold four atoms in a cubic cell.
    matrix_lattice: float = 0.4050e-9  # m, Al
    precipitate_lattice: float = 0.4103e-9  # m, Al3Sc

    # Interface energy: linear between the two values up to the coarse radius, constant above it.
    # One value for all sizes here. The strength depends on it strongly: from 0.096 to 0.105 J/m2 the strength after six
    # hours at 300 deg C falls by half.
    interface_energy: float = 0.098  # J/m2, smallest particles
    coarse_interface_energy: float = 0.098  # J/m2
    coarse_radius: float = 5e-9  # m

    # Strength (Seidman, Marquis, Dunand 2002).
    friction_stress: float = 20.0  # MPa, sigma_0 of pure aluminium
    taylor_factor: float = 3.06  # M
    matrix_shear_modulus: float = 25.4e9  # Pa, G
    precipitate_shear_modulus: float = 68e9  # Pa, G_p
    burgers_vector: float = 0.286e-9  # m, b
    poisson_ratio: float = 0.345  # nu
    antiphase_energy: float = 0.5  # J/m2

    # Whether each size class strengthens by itself. A single mean radius is simpler, but it exaggerates the strength of
    # a few coarse particles, which hold most of the fraction, beside many tiny ones, which set the mean.
    class_resolved: bool = True

    @property
    def matrix_volume(self) -> float:
        """Molar volume of the matrix (m3 per mole of atoms)."""
        return Avogadro * self.matrix_lattice**3 / 4

    @property
    def precipitate_volume(self) -> float:
        """Molar volume of the precipitates (m3 per mole of atoms)."""
        return Avogadro * self.precipitate_lattice**3 / 4

    @property
    def misfit(self) -> float:
        """The relative lattice misfit of the precipitates."""
        return (self.precipitate_lattice - self.matrix_lattice) / self.matrix_lattice

    def solvus(self, temperature: float) -> float:
        """x_e, the scandium that the matrix can hold at a temperature in K."""
        return self.solvus_factor * math.exp(-self.solvus_temperature / temperature)

    def diffusion(self, temperature: float) -> float:
        """D in m2/s at a temperature in K."""
        return self.diffusion_factor * math.exp(-self.diffusion_energy / (R * temperature))

    def interface(self, radius: Array) -> Array:
        """g of particles of these radii, J/m2."""
        share = np.minimum(radius / self.coarse_radius, 1.0)
        return self.interface_energy + share * (self.coarse_interface_energy - self.interface_energy)

    def critical(self, driving_force: float) -> tuple[float, float]:
        """r* where 2 g(r)/r equals the driving force (J/m3), and g there."""
        slope = (self.coarse_interface_energy - self.interface_energy) / self.coarse_radius
        if driving_force * self.coarse_radius <= 2 * self.coarse_interface_energy:
            return 2 * self.coarse_interface_energy / driving_force, self.coarse_interface_energy
        radius = 2 * self.interface_energy / (driving_force - 2 * slope)
        return radius, self.interface_energy + slope * radius


PRESETS = {
    "default": Constants(),
    # The published constants that differ, in the model above. The solvus follows from the published Gibbs energies for
    # a dilute matrix. For diffusion a vacancy forms (1.05 eV) and the atom moves (0.63 eV).
    "deane": Constants(
        alloy_solute=4e-4,
        solvus_factor=14.44,
        solvus_temperature=8130.0,
        diffusion_factor=5.31e-4 * 0.7815,
        diffusion_energy=(1.05 + 0.63) * elementary_charge * Avogadro,
        interface_energy=0.096,
        coarse_interface_energy=0.158,
        class_resolved=False,
    ),
}
"""The presets of `HeatTreatment` by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The alloy along a treatment, from the first moment to the last; one row for each time step."""

    time: Array  # (n,) s
    temperature: Array  # (n,) deg C
    mean_radius: Array  # (n,) m; 0 where there are no precipitates
    fraction: Array  # (n,) volume fraction of precipitates
    solute: Array  # (n,) atom fraction of Sc in the matrix
    number_density: Array  # (n,) precipitates in a cubic metre
    strength: Array  # (n,) MPa
    edges: Array  # (c + 1,) m, limits of the radius classes
    distributions: Array  # (n, c) precipitates of each class in a cubic metre

    @property
    def radii(self) -> Array:
        """(c,) The middle of each radius class, m."""
        middle: Array = np.sqrt(self.edges[1:] * self.edges[:-1])
        return middle

    @property
    def distribution(self) -> Array:
        """(c,) Precipitates of each class in a cubic metre, at the end."""
        last: Array = self.distributions[-1]
        return last


class HeatTreatment:
    """An alloy that can be heat-treated.

    >>> alloy = HeatTreatment()
    >>> round(alloy.strength(temperatures=[20, 20, 20, 20], times=[60, 60, 60, 60]), 1)
    28.2
    """

    def __init__(self, preset: str = "default", *, classes: int = 300) -> None:
        if preset not in PRESETS:
            raise BenchmarkError(f"the preset must be one of {', '.join(PRESETS)}, but got {preset!r}")
        if classes < 10:
            raise BenchmarkError(f"the radius needs 10 classes or more, but got {classes}")
        self.preset = preset
        self._constants = PRESETS[preset]
        self._grid = _Grid.log_spaced(classes)

    def strength(self, temperatures: Iterable[float], times: Iterable[float]) -> float:
        """Yield strength in MPa after four stages of these temperatures (deg C) and times (s)."""
        for state in self._states(_stages(temperatures, times)):
            last = state
        return float(self._strengths(np.array([last.solute]), last.density[None])[0])

    def trace(self, temperatures: Iterable[float], times: Iterable[float]) -> Trace:
        """Everything along the four stages, for figures."""
        states = list(self._states(_stages(temperatures, times)))
        solute = np.array([state.solute for state in states])
        density = np.stack([state.density for state in states])
        return Trace(
            time=np.array([state.time for state in states]),
            temperature=np.array([state.temperature for state in states]),
            mean_radius=self._grid.mean_radius(density),
            fraction=_row_sums(density, self._grid.volume),
            solute=solute,
            number_density=density.sum(axis=-1),
            strength=self._strengths(solute, density),
            edges=self._grid.edges,
            distributions=density,
        )

    def _states(self, stages: Iterable[tuple[float, float]]) -> Iterator[_State]:
        """The alloy after each time step, starting from the solid solution."""
        c = self._constants
        alloy = _State(0.0, 0.0, c.alloy_solute, self._grid.empty())
        for temperature, duration in stages:
            kelvin = temperature + zero_Celsius
            alloy = alloy._replace(temperature=temperature)
            if c.solvus(kelvin) < c.alloy_solute:
                steps = _Stage(c, self._grid, kelvin).age(alloy, duration)
            else:
                # Above the solvus, and so above the melting point too, everything dissolves.
                alloy = alloy._replace(solute=c.alloy_solute, density=self._grid.empty())
                steps = iter([alloy, alloy._replace(time=alloy.time + duration)])
            for alloy in steps:
                yield alloy

    def _strengths(self, solute: Array, density: Array) -> Array:
        """Strength in MPa of (n,) matrix solutes with (n, c) distributions."""
        c, grid = self._constants, self._grid
        if c.class_resolved:
            # Each class strengthens by k(r) sqrt(f); the classes add in quadrature.
            precipitates = np.sqrt(_row_sums(density, grid.volume * _precipitate_strength(c, grid.radii) ** 2))
        else:
            mean = np.maximum(grid.mean_radius(density), grid.edges[0])
            precipitates = _precipitate_strength(c, mean) * np.sqrt(_row_sums(density, grid.volume))
        strength: Array = c.friction_stress + _solution_strength(c, solute) + precipitates
        return strength


def _stages(temperatures: Iterable[float], times: Iterable[float]) -> list[tuple[float, float]]:
    """The four (temperature, time) of a treatment, checked."""
    return list(
        zip(
            _checked(temperatures, "temperatures", TEMPERATURE_BOUNDS, "deg C"),
            _checked(times, "times", TIME_BOUNDS, "s"),
            strict=True,
        )
    )


def _checked(values: Iterable[object], what: str, bounds: dict[str, tuple[float, float]], unit: str) -> list[float]:
    """The values as numbers, each within its bounds."""
    given = list(values) if isinstance(values, Iterable) else [values]
    if len(given) != len(bounds):
        raise BenchmarkError(
            f"a treatment has {len(bounds)} {what}, {', '.join(bounds)}, but got {len(given)}: {values!r}"
        )
    named = zip(bounds.items(), given, strict=True)
    return [number_within(name, value, low, high, unit) for (name, (low, high)), value in named]


# Strength ---------------------------------------------------------------------------------------------


def _solution_strength(c: Constants, solute: Array) -> Array:
    """Strength (MPa) from dissolved scandium, by its misfit with aluminium.

    M (3/8)^(2/3) ((1 + nu)/(1 - nu))^(4/3) 5^(1/3) G |misfit|^(4/3) x^(2/3)
    """
    nu = c.poisson_ratio
    factor = (3 / 8) ** (2 / 3) * ((1 + nu) / (1 - nu)) ** (4 / 3) * 5 ** (1 / 3) * abs(c.misfit) ** (4 / 3)
    strength: Array = c.taylor_factor * factor * c.matrix_shear_modulus * solute ** (2 / 3) / 1e6
    return strength


def _precipitate_strength(c: Constants, r: Array) -> Array:
    """Strength (MPa) from precipitates of radius r, divided by sqrt(f).

    A dislocation cuts the particles or loops around them, whichever is easier:
    min(max(coherency + modulus, order), Orowan), all in proportion to sqrt(f) so that classes can be added:

        coherency   2.6 M (e G)^(3/2) sqrt(2 r / (G b)),  e = 2/3 misfit
        modulus     0.0055 M (G_p - G)^(3/2) sqrt(2 / G) (r / b)^(3m/2 - 1),  m = 0.85
        order       0.81 M apb / (2 b) sqrt(3 pi / 8)
        Orowan      0.4 M G b / (pi sqrt(1 - nu)) ln(pi r / (2 b)) / (r sqrt(2 pi / 3))
    """
    M, G, b = c.taylor_factor, c.matrix_shear_modulus, c.burgers_vector
    coherency = 2.6 * M * (2 / 3 * abs(c.misfit) * G) ** 1.5 * np.sqrt(2 * r / (G * b))
    modulus = 0.0055 * M * (c.precipitate_shear_modulus - G) ** 1.5 * np.sqrt(2 / G)
    modulus = modulus * (r / b) ** (1.5 * 0.85 - 1)
    order = 0.81 * M * c.antiphase_energy / (2 * b) * math.sqrt(3 * math.pi / 8)
    # The logarithm of the line tension is meaningless for particles smaller than the core of a dislocation.
    looping = np.log(np.maximum(math.pi * r / (2 * b), 1.0)) / (r * math.sqrt(2 * math.pi / 3))
    orowan = 0.4 * M * G * b / (math.pi * math.sqrt(1 - c.poisson_ratio)) * looping
    strength: Array = np.minimum(np.maximum(coherency + modulus, order), orowan) / 1e6
    return strength


# Precipitation ----------------------------------------------------------------------------------------


class _State(NamedTuple):
    time: float  # s
    temperature: float  # deg C
    solute: float
    density: Array  # (c,)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Classes of radius, evenly spaced in its logarithm."""

    edges: Array  # (c + 1,) m
    radii: Array  # (c,) m
    widths: Array  # (c,) m
    volume: Array  # (c,) m3, of one particle
    spacing: float  # of ln r

    @classmethod
    def log_spaced(cls, classes: int) -> _Grid:
        """From 0.25 nm, below every critical radius, to 2 um, the reach of six hours of diffusion."""
        edges = np.geomspace(0.25e-9, 2e-6, classes + 1)
        edges.setflags(write=False)  # all traces share them
        radii = np.sqrt(edges[1:] * edges[:-1])
        spacing = math.log(edges[-1] / edges[0]) / classes
        return cls(edges, radii, np.diff(edges), 4 / 3 * math.pi * radii**3, spacing)

    def empty(self) -> Array:
        """No particles."""
        return np.zeros(self.radii.size)

    def mean_radius(self, density: Array) -> Array:
        """Mean over the particles of (..., c), m; 0 if there is less than one in a cubic millimetre."""
        number = density.sum(axis=-1)
        some = number > 1e9
        mean: Array = np.where(some, _row_sums(density, self.radii) / np.where(some, number, 1.0), 0.0)
        return mean

    def place(self, radius: float) -> tuple[int, float]:
        """Class i and weight w so that particles of this radius are 1 - w in class i and w in class i + 1."""
        position = math.log(radius / self.radii[0]) / self.spacing
        position = min(max(position, 0.0), self.radii.size - 1.001)
        return int(position), position % 1.0


def _row_sums(rows: Array, weights: Array) -> Array:
    """Weighted sums of (..., c); a matrix product would round one row differently from many."""
    sums: Array = (rows * weights).sum(axis=-1)
    return sums


class _Stage:
    """Precipitation at one temperature; incubation starts again."""

    def __init__(self, constants: Constants, grid: _Grid, temperature: float) -> None:
        c = constants
        self._constants, self._grid, self._temperature = c, grid, temperature
        self._solvus = c.solvus(temperature)
        self._diffusion = c.diffusion(temperature)
        # Growth at the class limits, dr/dt = D/r (x - x_R)/(x_p - x_R), is `mobility` (x - x_R), with
        # the Gibbs-Thomson x_R = x_e exp(2 g V_m / (x_p R T r)), kept below x_p for tiny particles.
        exponent = 2 * c.interface(grid.edges) * c.precipitate_volume / grid.edges
        beside = self._solvus * np.exp(exponent / (c.precipitate_solute * R * temperature))
        self._beside = np.minimum(beside, 0.9 * c.precipitate_solute)
        self._mobility = self._diffusion / (grid.edges * (c.precipitate_solute - self._beside))
        self._mobility[-1] = 0.0  # no particle grows beyond the last class

    def age(self, alloy: _State, duration: float) -> Iterator[_State]:
        """The alloy at the start and after each time step.

        The size of the steps follows the change of the matrix solute (and so, by the mass balance, of the fraction) and
        of the mean radius.
        """
        c, grid, start = self._constants, self._grid, alloy.time
        elapsed, radius = 0.0, float(grid.mean_radius(alloy.density))
        step = jump = c.matrix_lattice**2 / self._diffusion  # the time of an atom's jump from cell to cell
        yield alloy
        while elapsed < duration:
            step = min(step, duration - elapsed)
            last = step == duration - elapsed
            solute, density = self._advance(alloy.solute, alloy.density, elapsed + step, step)
            new_radius = float(grid.mean_radius(density))
            change = abs(solute - alloy.solute) / (SOLUTE_STEP * c.alloy_solute)
            if radius and new_radius:
                fraction = float(density @ grid.volume)
                growth = abs(new_radius / radius - 1) / RADIUS_STEP
                change = max(change, growth * fraction / (fraction + SMALL_FRACTION))
            if change > 2 and step > 1e-3 * jump:
                step *= max(0.2, 1 / change)
                continue
            elapsed = duration if last else elapsed + step
            alloy = _State(start + elapsed, alloy.temperature, solute, density)
            radius = new_radius
            yield alloy
            step *= min(3.0, 0.8 / max(change, 1e-3))

    def _advance(self, solute: float, density: Array, time: float, step: float) -> tuple[float, Array]:
        """Solute and distribution at `time`, one backward-Euler step later.

        All rates are those at the new solute x, which solves the mass balance

            (x - x_0) (1 - f) / V_matrix + (x_p - x_0) f / V_precipitate = 0,

        whose left side grows with x: more solute, more and larger particles.
        """
        c = self._constants
        per_fraction = (c.precipitate_solute - c.alloy_solute) * c.matrix_volume / c.precipitate_volume

        def excess(x: float) -> tuple[float, Array]:
            grown = self._transport(x, density, time, step)
            f = float(grown @ self._grid.volume)
            return (x - c.alloy_solute) * (1 - f) + per_fraction * f, grown

        return _increasing_root(excess, solute, 0.0, c.alloy_solute, MASS_ERROR * c.alloy_solute)

    def _transport(self, x: float, density: Array, time: float, step: float) -> Array:
        """The distribution after a step at solute x: particles cross class limits, nuclei appear.

        N_i + step (F_{i+1/2} - F_{i-1/2}) = N_i(before) + step J_i, with the upwind flux
        F = max(v, 0) N_i / width_i + min(v, 0) N_{i+1} / width_{i+1}: a tridiagonal system. Particles
        below the first limit vanish. The scheme is stable at any step and keeps every N_i >= 0. It smears the
        distribution a little, which accelerates late coarsening.
        """
        grid = self._grid
        distance = step * self._mobility * (x - self._beside)
        up, down = np.maximum(distance, 0.0), np.minimum(distance, 0.0)
        diagonal = 1 + (up[1:] - down[:-1]) / grid.widths
        lower, upper = -up[1:-1] / grid.widths[:-1], down[1:-1] / grid.widths[1:]
        source = density.copy()
        rate, radius = self._nucleation(x, time)
        if rate > 0:
            i, weight = grid.place(radius)
            source[i] += rate * step * (1 - weight)
            source[i + 1] += rate * step * weight
        grown: Array = dgtsv(lower, diagonal, upper, source, True, True, True, True)[3]
        return grown

    def _nucleation(self, x: float, time: float) -> tuple[float, float]:
        """Nuclei per m3 and s, and their initial radius.

        J = N_0 Z b* exp(-G*/kT) exp(-tau/t). The driving force
        dg = RT [x_p ln(x/x_e) + (1 - x_p) ln((1 - x)/(1 - x_e))] / V_m gives r* = 2 g/dg and the barrier
        G* = 4/3 pi g r*^2; every solute atom is one of N_0 sites; Zeldovich's
        Z = v / (2 pi r*^2) sqrt(g/kT) for atoms of volume v, attachment b* = 4 pi r*^2 D x / a^4 and
        incubation tau = 1 / (2 Z^2 b*). At r* a nucleus would neither grow nor shrink, so it starts where its energy
        is kT below the barrier: r* + 1/2 sqrt(kT / (pi g)).
        """
        c, T, x_e, x_p = self._constants, self._temperature, self._solvus, self._constants.precipitate_solute
        kT = Boltzmann * T
        if x <= x_e:
            return 0.0, 0.0
        mixing = x_p * math.log(x / x_e) + (1 - x_p) * math.log((1 - x) / (1 - x_e))
        if mixing <= 0:
            return 0.0, 0.0
        radius, g = c.critical(R * T * mixing / c.precipitate_volume)
        barrier = 4 / 3 * math.pi * g * radius**2 / kT
        if barrier > 100:  # less than one nucleus in a cubic metre
            return 0.0, 0.0
        zeldovich = c.precipitate_volume / Avogadro / (2 * math.pi * radius**2) * math.sqrt(g / kT)
        attachment = 4 * math.pi * radius**2 * self._diffusion * x / c.matrix_lattice**4
        incubation = 1 / (2 * zeldovich**2 * attachment)
        sites = x * Avogadro / c.matrix_volume
        rate = sites * zeldovich * attachment * math.exp(-barrier - incubation / time)
        return rate, radius + 0.5 * math.sqrt(kT / (math.pi * g))


def _increasing_root(
    function: Callable[[float], tuple[float, Array]], guess: float, low: float, high: float, tolerance: float
) -> tuple[float, Array]:
    """The zero of an increasing function, and what it returns beside its value: secant steps, else bisection."""
    x = guess
    value, carried = function(x)
    slope = 1.0  # of the function if nothing precipitates
    for _ in range(100):
        if abs(value) < tolerance:
            break
        if value > 0:
            high = x
        else:
            low = x
        following = x - value / slope if slope > 0 else math.nan
        if not low < following < high:
            following = low + (high - low) / 2
        if following in (x, low, high):
            break
        before, value_before = x, value
        x = following
        value, carried = function(x)
        slope = (value - value_before) / (x - before)
    return x, carried
