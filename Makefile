# Every target creates .venv, installs what it needs, and is quick when nothing changed.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMPS := $(VENV)/.stamps

export OMP_NUM_THREADS := 1
export POT_BACKEND_DISABLE_PYTORCH := 1

.PHONY: demo test install check bench docs screenshots clean help
.DEFAULT_GOAL := help

help:  ## show this help
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

demo: $(STAMPS)/core  ## install, value five clients on embedded data, write fedbary-demo/report.html
	@$(BIN)/fedbary demo

test: $(STAMPS)/dev  ## install everything the tests need and run them all (needs /usr/bin/chromium)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q

install: $(STAMPS)/all  ## .venv with all extras

check: $(STAMPS)/dev  ## lint, types, layers and the fast tests, about two minutes
	@$(BIN)/ruff check src tests benchmarks tools examples
	@$(BIN)/ruff format --check src tests benchmarks tools examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m "not slow"

bench: $(STAMPS)/dev  ## time, memory, accuracy and ordering tables, what the privacy guards cost, and all row methods
	@$(BIN)/python benchmarks/scaling.py
	@$(BIN)/python benchmarks/accuracy.py
	@$(BIN)/python benchmarks/ordering.py
	@$(BIN)/python benchmarks/client_work.py
	@$(BIN)/python benchmarks/guards.py
	@$(BIN)/python benchmarks/row_methods.py

docs: $(STAMPS)/docs  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

screenshots: $(STAMPS)/dev  ## make every picture of README and docs again (needs chromium and poppler-utils)
	@$(BIN)/python tools/screenshots.py

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
