"""bomi's sampler: Bayesian optimization of experiments whose inputs may be missing."""

from bomi.integrations.optuna import BomiSampler, actual_figure, actual_frame, record_actual

__all__ = ["BomiSampler", "actual_figure", "actual_frame", "record_actual"]
