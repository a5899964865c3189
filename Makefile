# `make train` and `make test` set everything up on a machine with Python 3.11 or later, pip and make.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
OUT ?= runs/ppo
SITE ?= build/site
DOCS_VENV ?= build/docs_venv
RAY_VENV ?= build/ray_venv
CLIENTS_VENV ?= build/clients_venv
TRAIN_FLAGS ?=
BENCH_FLAGS ?=
# Without bytecode caches every short test process would recompile its imports: ten seconds with torch.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help train test test-slow test-faults test-ray test-clients bench check format docs samples lock clean

help:
	@echo "make train      train PPO on the shared network and compare it with the baselines ($(OUT))"
	@echo "make test       run the tests"
	@echo "make test-slow  run the tests that take minutes"
	@echo "make test-faults  kills, full disks, damaged files (docs/reliability.md)"
	@echo "make test-ray   run the tests on a local Ray cluster (docs/benchmarks.md)"
	@echo "make test-clients  test with other RL libraries (docs/other_libraries.md)"
	@echo "make bench      measure speed as ratios to rival libraries"
	@echo "make check      ruff and mypy"
	@echo "make docs       build the site ($(SITE)/index.html)"
	@echo "make samples    write the sample reports of the site ($(SITE)/samples)"
	@echo "make lock       rebuild requirements*.txt from pyproject.toml (UPGRADE=1: newest versions)"

$(VENV)/bin/python:
	$(PYTHON) $(CHECK_PYTHON)
	$(PYTHON) -m venv $(VENV)

CHECK_PYTHON := -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "matchenv needs Python 3.11 or later, not " + sys.executable)'

# torch first and pinned: a bare "torch" would install gigabytes of CUDA packages. Its wheel differs
# between machines, so it has no hash; the lock covers everything else. --no-compile: Python compiles
# on import the small part of these packages that is used.
QUIET_INSTALL := -m pip install --quiet --disable-pip-version-check --no-deps --no-compile
PIP_INSTALL := $(BIN)/python $(QUIET_INSTALL)
DOCS_PIP := $(DOCS_VENV)/bin/python $(QUIET_INSTALL)
RAY_PIP := $(RAY_VENV)/bin/python $(QUIET_INSTALL)

$(STAMP): $(VENV)/bin/python requirements.txt requirements-torch.txt pyproject.toml
	$(BIN)/python $(CHECK_PYTHON)
	$(PIP_INSTALL) -r requirements-torch.txt
	$(PIP_INSTALL) --require-hashes -r requirements.txt
	$(PIP_INSTALL) --no-build-isolation -e .
	touch $(STAMP)

# Resume an existing run; never overwrite it.
train: $(STAMP)
	if [ -f $(OUT)/config.yml ]; then \
		$(BIN)/python train.py --resume $(OUT) $(TRAIN_FLAGS); \
	else \
		$(BIN)/python train.py --algo ppo --out $(OUT) $(TRAIN_FLAGS); \
	fi

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not faults and not ray and not clients"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

# A separate venv, since Ray pins one version of Gymnasium.
$(RAY_VENV)/installed: requirements-ray.txt requirements-torch.txt pyproject.toml
	$(PYTHON) -m venv $(RAY_VENV)
	$(RAY_PIP) -r requirements-torch.txt
	$(RAY_PIP) --require-hashes -r requirements-ray.txt
	$(RAY_PIP) --no-build-isolation -e .
	touch $@

test-ray: $(RAY_VENV)/installed
	$(RAY_VENV)/bin/python -m pytest -m ray tests/ray

# A separate venv, since the newest releases need other versions than the lock's.
$(CLIENTS_VENV)/installed: requirements-torch.txt pyproject.toml
	$(PYTHON) -m venv $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python $(QUIET_INSTALL) -r requirements-torch.txt
	$(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[agents]" \
		--constraint requirements-torch.txt pytest hypothesis "minari[create]" rl_zoo3 skrl "tianshou>=2" torchrl tensordict
	touch $@

test-clients: $(CLIENTS_VENV)/installed
	$(CLIENTS_VENV)/bin/python -m pytest tests/clients tests/test_documentation.py -k "clients or other_libraries"

# The promises of docs/reliability.md: about five minutes on two cores.
test-faults: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m faults tests/faults

# Options: make bench BENCH_FLAGS="--only ratings --turns 3".
bench: $(STAMP)
	$(BIN)/python -m matchenv.benchmarks.speed $(BENCH_FLAGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers $(WORKERS)
	$(BIN)/mypy tests/typed_constructors.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A separate venv: the site's packages need older dependencies than ours, and no torch.
$(DOCS_VENV)/installed: requirements-docs.txt pyproject.toml
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_PIP) --require-hashes -r requirements-docs.txt
	$(DOCS_PIP) --no-build-isolation -e .
	touch $@

docs: $(DOCS_VENV)/installed
	$(DOCS_VENV)/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet \
		--doctree-dir build/doctrees docs $(SITE)
	@! grep -rlE '(src|rel="stylesheet"[^>]* href)="https?:|@import url\(.?https?:' $(SITE) --include=*.html --include=*.css \
		|| { echo "these pages load files from other hosts"; exit 1; }
	@grep -q '"ranking": \[\[[0-9]*, "index-0", true\]\]' $(SITE)/searchindex.js \
		|| { echo "the search for ranking must show its page first"; exit 1; }
	@echo "$(SITE)/index.html"

# Reports of small results, about two minutes on two cores; docs/gallery.md shows the commands.
SAMPLES := build/sample_results
samples: $(STAMP)
	mkdir -p $(SITE)/samples
	$(BIN)/python -m matchenv compare --policy drawchance kg gittins --rank top middle --prior informative \
		--episodes 200 --seed 1 --out $(SAMPLES)/compare --quiet
	$(BIN)/python -m matchenv replay examples/games.csv --out $(SAMPLES)/replay --quiet
	$(BIN)/python -m matchenv report $(SAMPLES) --out $(SITE)/samples/report.html
	$(BIN)/python -m matchenv judge examples/games.csv --rule window:width=8,growth=2 --episodes 40 \
		--out build/sample_judge --quiet
	cp build/sample_judge/judge.html $(SITE)/samples/judge.html

# Three locks for Python 3.11 to 3.14 on all systems; versions that still fit are kept.
lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --extra all --group dev \
		--universal --python-version 3.11 --generate-hashes $(if $(UPGRADE),--upgrade) \
		--constraints requirements-torch.txt --no-emit-package torch \
		--custom-compile-command "make lock" \
		--quiet --output-file requirements.txt
	$(BIN)/uv pip compile pyproject.toml --group docs \
		--universal --python-version 3.11 --generate-hashes $(if $(UPGRADE),--upgrade) \
		--default-index https://pypi.org/simple --custom-compile-command "make lock" \
		--quiet --output-file requirements-docs.txt
	$(BIN)/uv pip compile pyproject.toml --extra agents --extra ray --group ray \
		--universal --python-version 3.11 --generate-hashes $(if $(UPGRADE),--upgrade) \
		--constraints requirements-torch.txt --no-emit-package torch \
		--default-index https://pypi.org/simple --custom-compile-command "make lock" \
		--quiet --output-file requirements-ray.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
