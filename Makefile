# Two commands matter: `make run` and `make test`. Both set up whatever they need.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
PACKAGE := layers/mailfold/python

# Uncompiled packages make every start of the CDK several times slower.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run demo test pr lint types contracts unit integration property infra e2e browser picture prove synth bench cost openapi deploy lock clean

help: ## show this list
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@printf '\nTo measure (minutes each):\n'
	@grep -hE '^[a-z0-9]+:.*##measure ' $(MAKEFILE_LIST) | sed -E 's/:.*##measure /\t/' | expand -t 14

setup: ## install everything into .venv, .venv-stack and .venv-tools
	@$(PYTHON) local/bootstrap.py

run: setup ## run the whole pipeline on this machine (RESET=1 starts anew)
	@$(PY) -m local.run $(if $(RESET),--reset)

demo: setup ## send signed, duplicated, shuffled and forged traffic to the running stack, then audit it
	@$(PY) -m local.demo $(DEMO)

test: lint types contracts unit integration property infra e2e browser ## everything CI runs

pr: test ## what a pull request must pass

lint: setup ## ruff: format and rules
	@.venv/bin/ruff format --check --quiet . || { echo "run: .venv/bin/ruff format ."; exit 1; }
	@.venv/bin/ruff check --quiet .

types: setup ## mypy, strict
	@.venv/bin/mypy

contracts: setup ## imports go one way
	@PYTHONPATH=$(PACKAGE):. .venv/bin/lint-imports --no-logo

unit: setup ## no network, no database
	@$(PY) -m pytest tests/unit

integration: setup ## on a real Postgres
	@$(PY) -m pytest tests/integration

property: setup ## random histories, flawed processors, killed workers: the short form
	@$(PY) -m pytest tests/property tests/chaos

infra: setup ## template assertions, cfn-lint, cdk-nag
	@$(PY) -m pytest tests/infra

e2e: setup ## the deployed template on the local stack
	@$(PY) -m pytest tests/e2e

browser: setup ## the console in a real browser; pictures in tests/browser/artefacts
	@$(PY) -m pytest tests/browser

picture: browser ## the same, and the README's picture anew
	@cp tests/browser/artefacts/overview-desktop-light.png docs/console.png

prove: setup ##measure the long proofs: histories, kills, redrive, prune, publish (ONLY=kills for one; PROVE=--help for more)
	@PYTHONPATH=$(PACKAGE):. $(PY) -m tests.prove $(ONLY) $(PROVE)

synth: setup ## write the CloudFormation template to cdk.out
	@$(PY) app.py && echo "cdk.out: $$(ls cdk.out/*.template.json | tr '\n' ' ')"

bench: setup ##measure every figure as a ratio within one run (ONLY=fold for one part; BENCH=--help for its options)
	@PYTHONPATH=$(PACKAGE):. $(PY) -m bench $(ONLY) $(BENCH)

cost: setup ##measure dollars per million events, from the measured work and docs/cost.md
	@PYTHONPATH=$(PACKAGE):. $(PY) -m bench.cost

deploy: setup ## cdk deploy, with the account of your AWS profile
	@$(PY) -m local.cdk deploy

openapi: setup ## write docs/openapi.json anew from the routes
	@PYTHONPATH=$(PACKAGE):. $(PY) -m local.openapi

lock: setup ## recompile the four requirement files
	@$(PY) local/bootstrap.py --lock

clean: ## remove what the commands above made
	rm -rf .venv .venv-stack .venv-tools .local .build cdk.out
