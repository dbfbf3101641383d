# Each target sets up what it needs: .venv is created if it is missing or older than its requirements.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
# If it were set, each of the many processes would compile all modules again: a third of the tests' time.
export PYTHONDONTWRITEBYTECODE :=
# A .venv that was moved here with its folder, or whose interpreter is gone, is created again.
STALE := $(shell test "$$(cat $(READY) 2>/dev/null)" = "$$(pwd -P)" && $(VENV)/bin/python -c '' 2>/dev/null || rm -f $(READY))

# Plugins for the tests of this repository, which would only delay the start of each process.
WITHOUT := $(addprefix -p no:,anyio hypothesispytest postgresql respx syrupy timeout)
evals: $(READY)  ## play every bundled case on three workers
	$(VENV)/bin/pytest evals/ -n 3 $(WITHOUT) $(ARGS)

test: $(READY)  ## test the plugin itself
	$(VENV)/bin/pytest tests/ -n 3 --dist worksteal $(ARGS)

check: $(READY)  ## style, types, imports
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(READY)  ## measure, side by side; about eleven minutes
	$(VENV)/bin/python -m benchmarks

docs: $(READY)  ## build the documentation site into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

docs-serve: $(READY)  ## show the documentation at http://127.0.0.1:8000
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs serve

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (about a minute, once)"
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("pytest-crmeval needs Python 3.11 or newer; try: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv --clear $(VENV)
	@PIP_CONSTRAINT=constraints.txt $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: --editable '.[dev]'
	@pwd -P > $@

.PHONY: evals test check bench docs docs-serve
