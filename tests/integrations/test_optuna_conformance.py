"""Optuna's own tests of samplers, all that apply."""

import os

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optuna", reason="these tests need bomi[optuna]")
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from bomi.integrations.optuna import BomiSampler


class TestBomiSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """`MultiObjectiveSamplerTestCase` is left out: it is for samplers of several objectives."""

    @pytest.fixture
    def sampler(self):
        return lambda: BomiSampler(seed=0)
