# Two commands matter: `make run` and `make test`. Both set up whatever they need.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
PACKAGE := layers/mailfold/python

# Uncompiled packages make every start of the CDK several times slower.
unexport PYTHONDONTWRITEBYTECODE

# What `make test` consists of, the longest first, and as many at once as there are processors.
PARTS := e2e lint contracts types integration property infra unit browser
JOBS ?= $(shell nproc)
SETUPS := setup-cli setup-run setup-test setup-bench

.PHONY: help setup $(SETUPS) run demo test parts pr lint types contracts unit integration property infra e2e browser picture prove audit sbom synth bench cost openapi deploy lock clean

help: ## show this list
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@printf '\nTo measure (minutes each):\n'
	@grep -hE '^[a-z0-9]+:.*##measure ' $(MAKEFILE_LIST) | sed -E 's/:.*##measure /\t/' | expand -t 14

setup: ## install everything into .venv, .venv-stack and .venv-tools (setup-cli, setup-run, setup-test, setup-bench: a part)
	@$(PYTHON) local/bootstrap.py

$(SETUPS): setup-%:
	@$(PYTHON) local/bootstrap.py $*

run: setup-run ## run the whole pipeline on this machine (RESET=1 starts anew)
	@$(PY) -m local.run $(if $(RESET),--reset)

demo: setup-run ## send signed, duplicated, shuffled and forged traffic to the running stack, then audit it
	@$(PY) -m local.demo $(DEMO)

test: setup-test ## everything CI runs, each part's output in one piece (JOBS=1 for one part at a time)
	@$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target --keep-going parts

parts: $(PARTS)

pr: test ## what a pull request must pass

lint: setup-test ## ruff: format and rules
	@echo "== $@"
	@.venv/bin/ruff format --check --quiet . || { echo "run: .venv/bin/ruff format ."; exit 1; }
	@.venv/bin/ruff check --quiet .

types: setup-test ## mypy, strict
	@echo "== $@"
	@.venv/bin/mypy

contracts: setup-test ## imports go one way
	@echo "== $@"
	@PYTHONPATH=$(PACKAGE):. .venv/bin/lint-imports --no-logo

unit: setup-test ## no network, no database
	@echo "== $@"
	@$(PY) -m pytest tests/unit

integration: setup-test ## on a real Postgres
	@echo "== $@"
	@$(PY) -m pytest tests/integration

property: setup-test ## random histories, flawed processors, killed workers: the short form
	@echo "== $@"
	@$(PY) -m pytest tests/property tests/chaos

infra: setup-test ## template assertions, cfn-lint, cdk-nag
	@echo "== $@"
	@$(PY) -m pytest tests/infra

e2e: setup-test ## the deployed template on the local stack
	@echo "== $@"
	@$(PY) -m pytest tests/e2e

browser: setup-test ## the console in a real browser; pictures in tests/browser/artefacts
	@echo "== $@"
	@$(PY) -m pytest tests/browser

picture: browser ## the same, and the README's picture anew
	@cp tests/browser/artefacts/overview-desktop-light.png docs/console.png

prove: setup-test ##measure the long proofs: histories, kills, redrive, prune, publish (ONLY=kills for one; PROVE=--help for more)
	@PYTHONPATH=$(PACKAGE):. $(PY) -m tests.prove $(ONLY) $(PROVE)

audit: setup-test ## bandit over our code, and the advisories of all locked packages (AUDIT=--help for its options)
	@$(PY) -m local.supply $(AUDIT)

sbom: setup-test ## write .build/mailfold-layer.cdx.json: what the Lambda layer holds, as CycloneDX
	@$(PY) -m local.sbom

synth: setup-run ## write the CloudFormation template to cdk.out
	@$(PY) app.py && echo "cdk.out: $$(ls cdk.out/*.template.json | tr '\n' ' ')"

bench: setup-bench ##measure every figure as a ratio within one run (ONLY=fold for one part; BENCH=--help for its options)
	@PYTHONPATH=$(PACKAGE):. $(PY) -m bench $(ONLY) $(BENCH)

cost: setup-bench ##measure dollars per million events, from the measured work and docs/cost.md
	@PYTHONPATH=$(PACKAGE):. $(PY) -m bench.cost

deploy: setup-run ## cdk deploy, with the account of your AWS profile
	@$(PY) -m local.cdk deploy

openapi: setup-run ## write docs/openapi.json anew from the routes
	@PYTHONPATH=$(PACKAGE):. $(PY) -m local.openapi

lock: ## recompile the requirement files
	@$(PY) local/bootstrap.py --lock

clean: ## remove what the commands above made
	rm -rf .venv .venv-stack .venv-tools .local .build cdk.out
