# Every target creates .venv, installs what it needs, and is quick when nothing changed.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q
STAMPS := $(VENV)/.stamps
NEWEST := build/newest
SETTINGS := constraints.txt $(wildcard packages/*/pyproject.toml)
EVERYTHING := -e "packages/fedbary[torch,privacy,images,excel,sql,huggingface,text]" -e packages/fedbary-flower \
	-e packages/fedbary-nvflare -e "packages/fedbary-lab[torch,compare]"
CORE := packages/fedbary
NETWORKS := packages/fedbary-flower packages/fedbary-nvflare
READ := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs examples benchmarks packages/*/src packages/*/README.md
# Of the core what needs PyTorch or a browser, where neither is.
BARE := --ignore-glob='*/test_*_page.py'

export OMP_NUM_THREADS := 1
export POT_BACKEND_DISABLE_PYTORCH := 1
# Hundreds of tests start Python: it must not compile the same files every time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all install check lint fast tests lab pages federation newest wheels bench docs screenshots clean \
	help browser compiler
.DEFAULT_GOAL := help

help:  ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: $(STAMPS)/core  ## install the core, value five clinics with made-up patients, write fedbary-demo/report.html
	@$(BIN)/fedbary demo

test: browser  ## install everything, a browser included where there is none; checks, and all tests of core, Flower and FLARE but real federations
	@$(MAKE) --no-print-directory -j2 lint tests

test-all:  ## `make test`, then the laboratory, pages, real federations, the newest releases and the wheels: an hour at most
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory lab pages federation newest wheels

install: $(STAMPS)/dev  ## .venv with the four packages, all extras and all tools

check: browser  ## lint, types and layers; the core's fast tests with the attacks among them
	@$(MAKE) --no-print-directory -j2 lint fast

lint: $(STAMPS)/dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports > build/layers.txt 2>&1 || { cat build/layers.txt; exit 1; }
	@$(BIN)/codespell $(READ)

fast: $(STAMPS)/dev
	@FEDBARY_EXAMPLES=quick $(PYTEST) -m "not slow and not federation" $(CORE)

tests: $(STAMPS)/dev
	@FEDBARY_NO_SKIPS=1 FEDBARY_MEASURE=1 $(PYTEST) -m "not federation" $(CORE) $(NETWORKS) tests/integration

lab: $(STAMPS)/dev  ## the laboratory's tests
	@FEDBARY_NO_SKIPS=1 $(PYTEST) -m "not federation" packages/fedbary-lab

pages: browser  ## documentation, examples, tools and the repository itself
	@FEDBARY_NO_SKIPS=1 $(PYTEST) -m "not federation" tests --ignore=tests/integration

federation: $(STAMPS)/dev compiler  ## real federations with faults and hundreds of clients: at most 25 minutes
	@FEDBARY_NO_SKIPS=1 $(PYTEST) -m federation $(NETWORKS) tests

newest:  ## the demo and the core's fast tests with the newest release of every dependency, in build/newest
	@$(PYTHON) -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager \
		-e "packages/fedbary[excel,sql]" -r requirements-test.txt
	@$(NEWEST)/bin/fedbary demo -o $(NEWEST)/demo
	@$(NEWEST)/bin/python -m pytest -n $(JOBS) -q -m "not slow and not federation" $(CORE) $(BARE)

wheels:  ## build the four wheels; install the core's alone and each other beside it, in empty folders, and run them
	@tools/wheels.sh $(PYTHON)

bench: $(STAMPS)/dev  ## time, memory, bytes, accuracy and ordering tables, what the privacy guards cost and stop, and all row methods
	@for name in rivals growth slower scaling accuracy ordering one_support client_work cards reading engines flower_apps \
		node_state guards audit row_methods; do $(BIN)/python benchmarks/$$name.py || exit 1; done

docs: $(STAMPS)/dev  ## build the documentation into site/
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
	@mkdir -p $(STAMPS) build && touch $@

$(STAMPS)/core: $(STAMPS)/venv packages/fedbary/pyproject.toml constraints.txt
	@echo "installing fedbary into $(VENV) ..."
	@$(PIP) -e packages/fedbary && touch $@

# pyDVL 0.10 declares numpy<2 although it runs with numpy 2; left to pip, an old release with another API comes.
$(STAMPS)/dev: $(STAMPS)/core $(SETTINGS) requirements-test.txt requirements-dev.txt
	@echo "installing the four packages, their extras and what the tests need ..."
	@$(PIP) $(EVERYTHING) -r requirements-dev.txt && $(PIP) --no-deps pyDVL==0.10.0 && mkdir -p build && touch $@
