"""What a stopping machine takes down was stopped by nobody."""

from __future__ import annotations

import pytest

from healthd.daemon.stopping import MachineStop
from healthd.model import JobNew, JobRemoved, UnitName


def _new(job: int, unit: str) -> JobNew:
    return JobNew(job, UnitName(unit))


def _removed(job: int, unit: str, result: str) -> JobRemoved:
    return JobRemoved(job, UnitName(unit), result)


@pytest.mark.parametrize("target", ["shutdown.target", "rescue.target", "soft-reboot.target"])
def test_the_job_of_a_stop_freezes(target: str) -> None:
    """Forced reboots and isolates have no other sign."""
    stop = MachineStop()
    assert not stop.under_way
    stop.heard(_new(7, target))
    assert stop.under_way


def test_a_stop_is_called_off_when_the_last_of_its_jobs_is() -> None:
    """A reboot has a job for its target, and one for shutdown.target."""
    stop = MachineStop()
    stop.heard(_new(7, "reboot.target"))
    stop.heard(_new(8, "shutdown.target"))
    stop.heard(_removed(7, "reboot.target", "canceled"))
    assert stop.under_way
    stop.heard(_removed(8, "shutdown.target", "canceled"))
    assert not stop.under_way


def test_a_stop_that_was_reached_stays_one() -> None:
    """Between shutdown.target and the end of the machine nothing is judged any more."""
    stop = MachineStop()
    stop.heard(_new(7, "shutdown.target"))
    stop.heard(_removed(7, "shutdown.target", "done"))
    assert stop.under_way


def test_a_rescue_mode_that_was_left_is_over() -> None:
    """Its job ended well and took nothing down for ever: systemd says that all runs again."""
    stop = MachineStop()
    stop.heard(_new(7, "rescue.target"))
    known = stop.jobs
    stop.heard(_new(9, "shutdown.target"))
    stop.is_over(known)
    assert stop.jobs == {9}


def test_other_jobs_are_nothing_to_it() -> None:
    """Units are stopped all day long."""
    stop = MachineStop()
    stop.heard(_new(7, "nginx.service"))
    stop.heard(_removed(7, "nginx.service", "canceled"))
    assert not stop.under_way
