"""A furnace whose thermostat fails in every fourth trial."""

import optuna
import optunahub

module = optunahub.load_module(package="samplers/bomi")


def experiment(trial: optuna.Trial) -> float:
    """The hardness after a heat treatment."""
    temperature = trial.suggest_float("temperature", 120, 240)
    if trial.number % 4 == 3:
        module.record_actual(trial, {"temperature": None})
    return 150 - (temperature - 170) ** 2 / 50


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=module.BomiSampler(seed=0))
    study.optimize(experiment, n_trials=10)
    print(study.best_trial.params)
