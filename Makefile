# Every target creates .venv, installs what it needs, and is quick when nothing changed.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMPS := $(VENV)/.stamps
NEWEST := build/newest
# What needs an extra (Flower, PyTorch, pyDVL, MkDocs, a browser), and the numbers that are frozen for constraints.txt.
NOT_CORE := $(addprefix --ignore=,tests/docs tests/deploy packages/fedbary-lab/tests packages/fedbary-flower/tests tests/integration \
	packages/fedbary-nvflare/tests packages/fedbary-lab/src/fedbary_lab packages/fedbary/src/fedbary/engines/flower packages/fedbary/src/fedbary/engines/nvflare \
	packages/fedbary-flower/src/fedbary_flower/apps.py packages/fedbary-nvflare/src/fedbary_nvflare/__init__.py packages/fedbary/src/fedbary/compute/torch_arrays.py) --ignore-glob='*/test_*_page.py' --ignore-glob='*/deploy/nvflare*.py'

export OMP_NUM_THREADS := 1
export POT_BACKEND_DISABLE_PYTORCH := 1

.PHONY: demo test federation install check newest wheel bench docs screenshots clean help browser compiler
.DEFAULT_GOAL := help

help:  ## show this help
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: $(STAMPS)/core  ## install, value five clinics with made-up patients, write fedbary-demo/report.html
	@$(BIN)/fedbary demo

test: browser  ## install everything the tests need, a browser included where there is none, and run all but the next
	@FEDBARY_NO_SKIPS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m "not federation"

federation: $(STAMPS)/dev compiler  ## real federations with faults and hundreds of clients: at most 25 minutes
	@FEDBARY_NO_SKIPS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m federation

install: $(STAMPS)/all  ## .venv with all extras

check: browser  ## lint, types, layers and the fast tests with the attacks among them, about a minute
	@$(BIN)/ruff check src tests benchmarks tools examples
	@$(BIN)/ruff format --check src tests benchmarks tools examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m "not slow and not federation"

newest:  ## the demo and the core's fast tests with the newest release of every dependency, in build/newest
	@$(PYTHON) -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager \
		-e ".[excel,sql]" pytest pytest-xdist pytest-timeout hypothesis
	@$(NEWEST)/bin/fedbary demo -o $(NEWEST)/demo
	@$(NEWEST)/bin/python -m pytest -n $(JOBS) -q -m "not slow and not federation" tests src $(NOT_CORE)

wheel:  ## build the wheel, install it in an empty folder elsewhere and run the demo there
	@tools/wheel.sh $(PYTHON)

bench: $(STAMPS)/dev  ## time, memory, bytes, accuracy and ordering tables, what the privacy guards cost and stop, and all row methods
	@$(BIN)/python benchmarks/rivals.py
	@$(BIN)/python benchmarks/growth.py
	@$(BIN)/python benchmarks/slower.py
	@$(BIN)/python benchmarks/scaling.py
	@$(BIN)/python benchmarks/accuracy.py
	@$(BIN)/python benchmarks/ordering.py
	@$(BIN)/python benchmarks/one_support.py
	@$(BIN)/python benchmarks/client_work.py
	@$(BIN)/python benchmarks/cards.py
	@$(BIN)/python benchmarks/reading.py
	@$(BIN)/python benchmarks/engines.py
	@$(BIN)/python benchmarks/flower_apps.py
	@$(BIN)/python benchmarks/node_state.py
	@$(BIN)/python benchmarks/guards.py
	@$(BIN)/python benchmarks/audit.py
	@$(BIN)/python benchmarks/row_methods.py

docs: $(STAMPS)/docs  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

screenshots: browser  ## make every picture of README and docs again (needs poppler-utils)
	@$(BIN)/python tools/screenshots.py

browser: $(STAMPS)/dev
	@$(BIN)/python tools/chromium.py > /dev/null

compiler: $(STAMPS)/dev
	@$(BIN)/python tools/compiler.py > /dev/null

clean:  ## remove .venv and everything that was built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedbary needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/venv pyproject.toml constraints.txt
	@echo "installing fedbary into $(VENV) ..."
	@$(PIP) -e . && touch $@

# pyDVL 0.10 declares numpy<2 although it runs with numpy 2; left to pip, an old release with another API comes.
$(STAMPS)/dev: $(STAMPS)/core
	@echo "installing what the tests need ..."
	@$(PIP) -e ".[dev]" && $(PIP) --no-deps pyDVL==0.10.0 && touch $@

$(STAMPS)/docs: $(STAMPS)/core
	@echo "installing what the documentation needs ..."
	@$(PIP) -e ".[docs]" && touch $@

$(STAMPS)/all: $(STAMPS)/dev
	@echo "installing all extras (a few GB) ..."
	@$(PIP) -e ".[all]" && touch $@
