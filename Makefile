# Needs Python 3.11+ and make; everything else goes into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-oldest test-more check hunt mutants clean

demo: .venv/.installed            ## the main job on built-in data
	$(BIN)/bomi demo

test: .venv/.installed-test       ## all tests
	OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --ignore tests/web
	OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest tests/web  # one browser at a time

check: .venv/.installed-test      ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-oldest: .venv-oldest/.installed  ## all tests, with the lowest versions that pyproject.toml allows
	OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2 --ignore tests/web
	OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 .venv-oldest/bin/python -m pytest tests/web

test-more: .venv-more/.installed  ## Ax, OptunaHub, MLflow, Weights & Biases, Ray: tests and pages
	OMP_NUM_THREADS=1 .venv-more/bin/python -m pytest tests/integrations/test_ax.py tests/integrations/test_optunahub.py
	OMP_NUM_THREADS=1 .venv-more/bin/python -m pytest -W default tests/test_docs.py -k "runs and (ax or tracking or ray)"

hunt: .venv/.installed-test       ## look for what breaks it: make hunt MINUTES=60
	OMP_NUM_THREADS=1 $(BIN)/python tests/hunt --minutes $(MINUTES)

mutants: .venv/.installed-test    ## the tests against deliberate faults in the core
	$(BIN)/python tests/mutants/run.py --jobs 2

clean:
	rm -rf .venv .venv-oldest .venv-more build dist src/*.egg-info

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/.installed-test: .venv/.installed
	$(INSTALL) --editable ".[test,check]"
	touch $@

.venv-oldest/.installed: pyproject.toml constraints.txt tests/oldest.py
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) tests/oldest.py > .venv-oldest/lowest.txt
	grep ^torch== constraints.txt >> .venv-oldest/lowest.txt
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check --constraint .venv-oldest/lowest.txt --editable ".[test]"
	touch $@

.venv-more/.installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-more
	grep ^torch== constraints.txt > .venv-more/torch.txt
	.venv-more/bin/pip install --quiet --disable-pip-version-check --constraint .venv-more/torch.txt --editable ".[more]"
	touch $@
