"""Optuna's own tests of samplers, all that apply."""

import os

import pytest

if os.environ.get("BOMI_REQUIRE_ALL") != "1":
    pytest.importorskip("optuna", reason="these tests need bomi[optuna]")
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from bomi.integrations.optuna import BomiSampler


class TestBomiSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """`SingleOnlySamplerTestCase` is left out: it wants several objectives refused."""

    @pytest.fixture
    def sampler(self):
        return lambda: BomiSampler(seed=0)
