import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.constants import R

from bomi import BomiError
from bomi.benchmarks.heat_figures import figure
from bomi.benchmarks.heat_treatment import BOUNDS, PRESETS, TEMPERATURE_BOUNDS, TIME_BOUNDS, HeatTreatment

DEFAULT = PRESETS["default"]
SIX_HOURS = 21600
GOOD = ((87, 296, 315, 298), (5446, 21512, 21173, 18171))


@pytest.fixture(scope="module")
def alloy():
    return HeatTreatment()


@pytest.fixture(scope="module")
def treatments():
    low, high = np.array(list(BOUNDS.values())).T
    points = np.random.default_rng(0).uniform(low, high, (300, 8))
    return [(point[:4], point[4:]) for point in points]


@pytest.fixture(scope="module")
def strengths(alloy, treatments):
    return np.array([alloy.strength(*treatment) for treatment in treatments])


def only(temperature):
    """Six hours at one temperature; the other stages do nothing."""
    return (1, temperature, 1, 1), (1, SIX_HOURS, 1, 1)


def scandium(trace, constants):
    """Scandium atoms over all atoms, in matrix and precipitates together."""
    matrix = (1 - trace.fraction) / constants.matrix_volume
    precipitates = trace.fraction / constants.precipitate_volume
    atoms = trace.solute * matrix + constants.precipitate_solute * precipitates
    return atoms / (matrix + precipitates)


# Physics


@pytest.mark.parametrize(("temperature", "expected"), [(300, 137), (325, 143), (350, 124), (400, 78)])
def test_isothermal_strength(alloy, temperature, expected):
    assert alloy.strength(*only(temperature)) == pytest.approx(expected, rel=0.05)


def test_a_good_treatment(alloy):
    assert alloy.strength(*GOOD) == pytest.approx(166, rel=0.05)


def test_one_stage_is_the_same_wherever_it_stands(alloy):
    reference = alloy.strength(*only(325))
    assert alloy.strength((1, 1, 325, 1), (1, 1, SIX_HOURS, 1)) == reference
    assert alloy.strength((1, 1, 1, 325), (1, 1, 1, SIX_HOURS)) == reference


def test_ageing_peaks_and_then_softens(alloy):
    strengths = [alloy.strength(*only(temperature)) for temperature in range(200, 501, 25)]
    peak = int(np.argmax(strengths))
    assert 275 <= 200 + 25 * peak <= 350
    assert strengths[:peak] == sorted(strengths[:peak])
    assert strengths[peak:] == sorted(strengths[peak:], reverse=True)


@pytest.mark.parametrize("preset", PRESETS)
def test_mass_is_conserved_at_every_moment(preset, treatments):
    alloy, constants = HeatTreatment(preset), PRESETS[preset]
    for treatment in [GOOD, *treatments[:60]]:
        trace = alloy.trace(*treatment)
        np.testing.assert_allclose(scandium(trace, constants), constants.alloy_solute, rtol=1e-8)
        assert (trace.distributions >= 0).all()


def test_long_coarsening_follows_lifshitz_slyozov_wagner(alloy):
    """Once many fine particles only coarsen, r^3 grows in proportion to time."""
    temperature = 475
    trace = alloy.trace((1, 300, temperature, temperature), (1, SIX_HOURS, SIX_HOURS, SIX_HOURS))
    hot = trace.time - trace.time[trace.temperature == temperature][0]
    late = hot > SIX_HOURS / 2
    slope = np.polyfit(np.log(hot[late]), np.log(trace.mean_radius[late]), 1)[0]
    assert slope == pytest.approx(1 / 3, rel=0.05)
    assert np.corrcoef(hot[late], trace.mean_radius[late] ** 3)[0, 1] > 0.999
    # The rate of the theory, 4/9 D l x_e / x_p with the capillary length l, is a limit for the grid that
    # is approached from above: upwind differences smear the distribution.
    T = temperature + 273.15
    length = 2 * DEFAULT.interface_energy * DEFAULT.precipitate_volume / (0.25 * R * T)
    theory = 4 / 9 * DEFAULT.diffusion(T) * length * DEFAULT.solvus(T) / 0.25
    rate = np.polyfit(hot[late], trace.mean_radius[late] ** 3, 1)[0]
    assert theory < rate < 2 * theory


def test_above_the_solvus_everything_dissolves(alloy):
    floor = alloy.strength((1, 1, 1, 1), (1, 1, 1, 1))
    trace = alloy.trace((1, 300, 325, 650), (1, SIX_HOURS, SIX_HOURS, 1))
    assert trace.strength.max() > 100
    assert trace.strength[-1] == floor
    assert trace.number_density[-1] == trace.fraction[-1] == trace.mean_radius[-1] == 0
    assert trace.solute[-1] == DEFAULT.alloy_solute


def test_what_was_before_the_solvus_does_not_matter(alloy):
    after = (350, SIX_HOURS)
    aged = alloy.strength((50, 300, 700, after[0]), (600, SIX_HOURS, 60, after[1]))
    assert aged == alloy.strength((1, 1, 1, after[0]), (1, 1, 1, after[1]))


def test_just_below_the_solvus_small_particles_dissolve_by_themselves(alloy):
    floor = alloy.strength((1, 1, 1, 1), (1, 1, 1, 1))
    trace = alloy.trace((1, 300, 640, 1), (1, SIX_HOURS, SIX_HOURS, 1))
    before = trace.strength[np.flatnonzero(trace.temperature == 300)[-1]]
    assert before > 100
    assert trace.strength[-1] < floor + 15


# The landscape


def test_random_treatments_are_finite_and_on_or_above_the_floor(strengths):
    assert np.isfinite(strengths).all()
    assert (strengths >= DEFAULT.friction_stress).all()


def test_the_landscape_is_as_expected(strengths):
    assert np.mean(strengths < 30) == pytest.approx(0.65, abs=0.06)
    assert np.percentile(strengths, 95) == pytest.approx(119, rel=0.1)
    assert np.percentile(strengths, 99) == pytest.approx(139, rel=0.1)


def test_the_same_treatment_gives_the_same_bits(alloy, treatments, strengths):
    again = HeatTreatment()
    assert [again.strength(*treatment) for treatment in treatments[:60]] == strengths[:60].tolist()
    assert [alloy.trace(*treatment).strength[-1] for treatment in treatments[:60]] == strengths[:60].tolist()


def test_refining_the_radius_fourfold_changes_little(treatments, strengths):
    fine = HeatTreatment(classes=1200)
    change = [abs(fine.strength(*t) - s) for t, s in zip(treatments, strengths, strict=True)]
    assert np.percentile(change, 95) < 6


def test_coarse_particles_do_not_lend_their_fraction_to_fine_ones(alloy, monkeypatch):
    """Few coarse particles hold the fraction, many fine ones set the mean radius: no strong mixture."""
    monkeypatch.setitem(PRESETS, "mean radius", replace(DEFAULT, class_resolved=False))
    coarse_then_fine = ((1, 450, 275, 1), (1, 600, SIX_HOURS, 1))
    assert alloy.strength(*coarse_then_fine) < 45
    assert HeatTreatment("mean radius").strength(*coarse_then_fine) > 65


def test_the_published_alloy_holds_less_scandium_and_is_softer(alloy):
    published = HeatTreatment("deane")
    strengths = [published.strength(*only(temperature)) for temperature in (200, 300, 400)]
    assert strengths[1] > strengths[0] + 10
    assert strengths[1] > strengths[2] + 10
    assert strengths[1] < alloy.strength(*only(300))


# The trace and its figure


def test_a_trace_covers_the_treatment(alloy):
    temperatures, times = GOOD
    trace = alloy.trace(temperatures, times)
    steps = trace.time.size
    assert trace.time[0] == 0
    assert trace.time[-1] == sum(times)
    assert (np.diff(trace.time) >= 0).all()
    assert sorted(set(trace.temperature)) == sorted(temperatures)
    for values in (trace.mean_radius, trace.fraction, trace.solute, trace.number_density, trace.strength):
        assert values.shape == (steps,)
        assert np.isfinite(values).all()
    assert trace.distributions.shape == (steps, trace.radii.size)
    assert trace.edges.size == trace.radii.size + 1
    assert trace.distribution.sum() == trace.number_density[-1]
    assert 2e-9 < trace.mean_radius[-1] < 8e-9


@pytest.mark.parametrize("treatment", [GOOD, ((1, 1, 1, 1), (1, 1, 1, 1)), ((50, 300, 700, 350), (60, 9e3, 60, 9e3))])
def test_a_figure_of_any_treatment(alloy, treatment, tmp_path):
    drawing = figure(alloy.trace(*treatment))
    assert [axes.get_ylabel().split(" (")[0] for axes in drawing.axes[:3]] == [
        "temperature",
        "precipitate radius",
        "yield strength",
    ]
    drawing.savefig(tmp_path / "treatment.png")
    assert (tmp_path / "treatment.png").stat().st_size > 10_000


# Bad input


def test_the_bounds_name_eight_parameters():
    assert list(BOUNDS) == ["te_1", "te_2", "te_3", "te_4", "ti_1", "ti_2", "ti_3", "ti_4"]
    assert BOUNDS == TEMPERATURE_BOUNDS | TIME_BOUNDS


@pytest.mark.parametrize("corner", [0, 1])
def test_the_bounds_themselves_are_allowed(alloy, corner):
    values = [bounds[corner] for bounds in BOUNDS.values()]
    assert math.isfinite(alloy.strength(values[:4], values[4:]))


@pytest.mark.parametrize("method", ["strength", "trace"])
@pytest.mark.parametrize("index", range(8))
@pytest.mark.parametrize("bad", [0.999, 21600.1, -5, math.nan, math.inf, -math.inf, None, "hot", [3], 1j])
def test_a_bad_value_is_named_with_its_range(alloy, method, index, bad):
    values = [50, 300, 300, 300, 60, 60, 60, 60]
    values[index] = bad
    name = list(BOUNDS)[index]
    low, high = BOUNDS[name]
    with pytest.raises(BomiError) as told:
        getattr(alloy, method)(values[:4], values[4:])
    for part in (name, repr(bad), f"{low:g}", f"{high:g}"):
        assert part in str(told.value)


@pytest.mark.parametrize("bad", [[], [50], [50, 60, 70], [50, 60, 70, 80, 90], 50, None, np.full((2, 4), 50.0)])
def test_a_wrong_number_of_stages_is_told(alloy, bad):
    with pytest.raises(BomiError, match=r"4 temperatures, te_1, te_2, te_3, te_4"):
        alloy.strength(bad, [1, 1, 1, 1])
    with pytest.raises(BomiError, match=r"4 times, ti_1, ti_2, ti_3, ti_4"):
        alloy.strength([1, 1, 1, 1], bad)


def test_unknown_presets_and_too_few_classes_are_told():
    with pytest.raises(BomiError, match=r"default, deane, but got 'steel'"):
        HeatTreatment("steel")
    with pytest.raises(BomiError, match=r"10 classes or more, but got 3"):
        HeatTreatment(classes=3)


def test_nothing_is_simulated_when_a_value_is_bad(alloy, monkeypatch):
    monkeypatch.setattr(HeatTreatment, "_states", lambda *_: pytest.fail("simulated"))
    with pytest.raises(BomiError):
        alloy.strength([50, 300, 300, 300], [60, 60, 60, 0])
