# What a person types. Every target says what it does in `make help`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Debian's own interpreter: python3-dbus, python3-gi and python3-systemd belong to it, another
# python3 that comes first in PATH does not see them.
PYTHON := .venv/bin/python
REPORTS := build/reports
# Booted hosts at one time; two are what a machine with two cores bears.
HOSTS ?= 2

# What the tests need of the machine itself.
MACHINE_PACKAGES := python3-venv python3-dbus python3-gi python3-systemd dbus \
	git ca-certificates mmdebstrap systemd-container

.PHONY: help venv lint unit bus deb host test run shell bench soak clean

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.ready ## installs what the tests need: Debian packages, and .venv

.venv/.ready: pyproject.toml Makefile
	@missing=(); \
	for p in $(MACHINE_PACKAGES); do \
		[ "$$(dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null)" = installed ] || missing+=($$p); \
	done; \
	if (($${#missing[@]})); then \
		echo "installing $${missing[*]}"; \
		apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			"$${missing[@]}" >/dev/null; \
	fi
	/usr/bin/python3 -m venv --system-site-packages .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[fast,test]'
	@touch $@

lint: venv ## ruff and mypy
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

unit: venv ## pure tests: seconds
	@mkdir -p $(REPORTS); rm -f $(REPORTS)/unit.xml
	$(PYTHON) -m pytest tests/unit --junit-xml=$(REPORTS)/unit.xml

bus: venv ## the real daemon on a private bus, with mocked services
	@mkdir -p $(REPORTS); rm -f $(REPORTS)/bus.xml
	$(PYTHON) -m pytest tests/bus --junit-xml=$(REPORTS)/bus.xml

deb: venv ## dist/healthd_*.deb, built and checked by lintian in a Debian 13 tree
	$(PYTHON) -m tests.host.package

host: deb ## a booted Debian 13: real systemd, bus, polkit, journal
	@mkdir -p $(REPORTS); rm -f $(REPORTS)/host.xml
	$(PYTHON) -m pytest tests/host -v --durations=5 -n $(HOSTS) --dist loadfile --junit-xml=$(REPORTS)/host.xml

test: lint unit bus deb host ## everything, from the fast to the thorough
	$(PYTHON) -m tests.tally $(REPORTS)

run: deb ## shows healthd at work: on this machine under systemd, else on a throw-away one
	$(PYTHON) -m tests.host.story

shell: deb ## the throw-away machine of `make run`, left running, with a shell inside
	$(PYTHON) -m tests.host.story --shell

bench: deb ## what it costs: figures to compare, judged by nobody
	$(PYTHON) -m tests.bench
	$(PYTHON) -m tests.bench.healthctl
	$(PYTHON) -m tests.bench.looks

soak: deb ## hours: long random histories, then a booted host under load
	$(PYTHON) -m pytest tests/unit -m soak --timeout 0
	$(PYTHON) -m pytest tests/host -m soak --timeout 0

clean: ## removes what was built here; the cached Debian trees stay
	rm -rf build dist .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
