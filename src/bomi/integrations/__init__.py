"""bomi where people already work: `optuna` (a sampler), `botorch` (the worlds as a model), `sklearn` (imputers)."""
