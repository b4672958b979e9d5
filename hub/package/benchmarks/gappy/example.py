"""Three samplers on the same trials that go wrong."""

import optuna
import optunahub

gappy = optunahub.load_module(package="benchmarks/gappy")
bomi = optunahub.load_module(package="samplers/bomi")

if __name__ == "__main__":
    for sampler in (optuna.samplers.TPESampler(seed=0), optuna.samplers.GPSampler(seed=0), bomi.BomiSampler(seed=0)):
        problem = gappy.Problem("branin", rho=0.3, seed=0)
        study = optuna.create_study(directions=problem.directions, sampler=sampler)
        study.optimize(problem, n_trials=20)
        print(type(sampler).__name__, min(problem.regret(trial.params) for trial in study.trials))
