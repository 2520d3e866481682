"""Machines for the tests: one shared by a worker's tests, and pristine ones for who needs one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.host import machine, package
from tests.host.machine import Host, NotSeen


@pytest.fixture(scope="session")
def host_tree() -> Path:
    """The Debian tree that has everything healthd's packages depend on, and not them."""
    return package.machine_tree("host")


@pytest.fixture(scope="session")
def shared_machine(host_tree: Path) -> Iterator[Host]:
    with machine.boot(host_tree, "shared") as host:
        install_healthd(host)
        yield host


@pytest.fixture
def host(shared_machine: Host) -> Iterator[Host]:
    """The machine that a worker's tests share, healthd running on it without settings.

    Units and settings that a test wrote through it are taken away after it; incidents stay, so
    each test names its units anew.
    """
    yield shared_machine
    shared_machine.tidy()


@pytest.fixture
def fresh_host(host_tree: Path) -> Iterator[Host]:
    """A machine of the test's own, healthd just installed on it."""
    with machine.boot(host_tree, "fresh") as host:
        install_healthd(host)
        yield host


@pytest.fixture
def bare_host(host_tree: Path) -> Iterator[Host]:
    """A machine of the test's own on which healthd was never installed."""
    with machine.boot(host_tree, "bare") as host:
        yield host


def install_healthd(host: Host) -> None:
    """As a person would; it runs afterwards, or this raises NotSeen."""
    host.install(*package.packages())
    if host.run("systemctl", "is-active", "--quiet", "healthd.service", check=False).rc != 0:
        raise NotSeen(f"healthd does not run after its installation\n{host.journal_tail()}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show, with a failed test, what healthd and systemd wrote in its machine's journal."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, Host):
                report.sections.append((f"journal of {name}", value.journal_tail()))
    return report
