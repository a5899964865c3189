# Everything on a fresh machine with Python 3.11+, pip and make: make train, make test.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
OUT ?= runs/ppo
TRAIN_FLAGS ?=
# The four folders as one package: where mypy, which knows no import hooks, finds matchenv.agents.
ONE_NAME := build/one_name

.PHONY: help train test test-slow check format clean

help:
	@echo "make train      train a short PPO run and compare it with the baselines ($(OUT))"
	@echo "make test       run the tests"
	@echo "make test-slow  run the tests that take minutes"
	@echo "make check      ruff and mypy"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "matchenv needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

# torch alone and first: a bare "torch" would bring gigabytes of packages for other machines.
$(STAMP): $(VENV)/bin/python requirements.txt requirements-torch.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-torch.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# A run that was interrupted, or is there already, goes on; it is never overwritten.
train: $(STAMP)
	if [ -f $(OUT)/config.yml ]; then \
		$(BIN)/python train.py --resume $(OUT) $(TRAIN_FLAGS); \
	else \
		$(BIN)/python train.py --algo ppo --out $(OUT) $(TRAIN_FLAGS); \
	fi

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(ONE_NAME) && mkdir -p $(ONE_NAME)/matchenv
	ln -s $(addprefix $(CURDIR)/,$(wildcard matchenv/*) baselines agents benchmarks) $(ONE_NAME)/matchenv
	cd $(ONE_NAME) && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
