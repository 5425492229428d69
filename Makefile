# make demo    the whole loop on this machine        make demo SCENARIO=regression ARGS=--keep
# make test    the tests                             make test ARGS="-k webhook"
# make coverage  the tests again, and which lines and branches of ours they do not reach
# make lint    format, lint, types, workflow and Dockerfile checks
# make bench-judge, bench-scan, bench-locate, bench-harness, bench-webhook, bench-kills, measure-reference   slow measurements, see CONTRIBUTING.md
# make fuzz-logs SECONDS=60                             also fuzz-zips, fuzz-packs

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCENARIO ?= noise
ARGS ?=
# Many tests wait for a server or a process: one worker more than there are cores.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
SECONDS ?= 60
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test coverage lint format bench-judge bench-scan bench-locate bench-harness bench-webhook bench-kills fuzz-logs fuzz-zips fuzz-packs measure-reference clean

demo: $(VENV)/.demo
	@$(BIN)/kl-triage demo --scenario $(SCENARIO) $(ARGS)

test: $(VENV)/.test
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

coverage: $(VENV)/.test
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered $(ARGS)

lint: $(VENV)/.lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/zizmor --offline --quiet .github/workflows
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/hadolint Dockerfile
	@echo "lint: nothing to mend"

format: $(VENV)/.lint
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench-judge: $(VENV)/.test
	@$(BIN)/python -m tests.bench.judge $(ARGS)

bench-locate: $(VENV)/.test
	@$(BIN)/python -m tests.bench.locate $(ARGS)

bench-harness: $(VENV)/.test
	@$(BIN)/python -m tests.bench.harness $(ARGS)

bench-webhook: $(VENV)/.test
	@$(BIN)/python -m tests.bench.webhook $(ARGS)

bench-kills: $(VENV)/.test
	@KL_TRIAGE_KILLS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/lab tests/hazards $(ARGS)

bench-scan: $(VENV)/.test
	@$(BIN)/python -m tests.bench.scan $(ARGS)

fuzz-logs fuzz-zips fuzz-packs: fuzz-%: $(VENV)/.fuzz
	@$(BIN)/python -m tests.fuzz.$* $(SECONDS)

measure-reference: $(VENV)/.demo
	@$(BIN)/python -m runners.reference.measure $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

$(VENV)/.made:
	@command -v git >/dev/null || { echo "git is not installed; install it and run make again."; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; call make with PYTHON=python3.11 or newer."; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.made
	@echo "Installing kl-triage and torch into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e '.[torch]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.made
	@echo "Installing kl-triage, torch and the test tools into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e '.[torch,test]'
	@touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)/.made
	@echo "Installing kl-triage, torch and the lint tools into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e '.[torch,test,dev]'
	@touch $@

$(VENV)/.fuzz: pyproject.toml | $(VENV)/.made
	@echo "Installing kl-triage, torch, the test tools and atheris into $(VENV) (once) ..."
	@$(PIP) -e '.[torch,test,fuzz]'
	@touch $@
