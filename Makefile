# Needs Python 3.11+ and make; everything else goes into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check hunt mutants clean

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

hunt: .venv/.installed-test       ## look for calls and files that break it: make hunt MINUTES=60
	OMP_NUM_THREADS=1 $(BIN)/python tests/hunt/doors.py
	OMP_NUM_THREADS=1 $(BIN)/python tests/hunt/api.py --minutes $(MINUTES)
	OMP_NUM_THREADS=1 $(BIN)/python tests/hunt/files.py --minutes $(MINUTES)

mutants: .venv/.installed-test    ## the tests against deliberate faults in the core
	$(BIN)/python tests/mutants/run.py --jobs 2

clean:
	rm -rf .venv build dist src/*.egg-info

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/.installed-test: .venv/.installed
	$(INSTALL) --editable ".[test,check]"
	touch $@
