"""Stages as histories begin with them, and what they are asked in the end."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import SECOND_US, Check, CheckKey, Incident, Phase, Policy, UnitFacts
from tests.unit.histories import LISTED, LIVE_CHECK, LIVENESS, READINESS, READY_CHECK, RUNNING
from tests.unit.stage import Stage

MINUTE, HOUR = 60, 3600
ADMIN = CheckKey(f"{READINESS}/admin")
ADMIN_CHECK = replace(READY_CHECK, key=ADMIN)


def well(*checks: Check, policy: Policy = LISTED) -> Stage:
    """A unit that is watched and looked at, and has been well for a minute."""
    made = Stage(checks=checks or (LIVE_CHECK, READY_CHECK), policy=policy)
    made.run(MINUTE)
    return made


def dying(policy: Policy = LISTED, facts: UnitFacts = RUNNING) -> Stage:
    """A unit that was just killed, and dies at every start."""
    stage = Stage(policy=policy, facts=facts)
    stage.lives_s = 0.05
    stage.run(10)
    stage.kill()
    return stage


def opened(stage: Stage, key: CheckKey = READINESS) -> Incident:
    """The open incident of a check."""
    incident = stage.play.open(key)
    assert incident is not None
    return incident


def why(stage: Stage) -> str:
    """Why the owner's turn has come."""
    incident = opened(stage, LIVENESS)
    assert incident.phase is Phase.ENGAGED
    return incident.why_engaged


def made_at(stage: Stage) -> list[int]:
    """The second of each attempt, counted from the first."""
    instants = [r.attempt.at_us for r in stage.play.repairs()]
    return [round((at_us - instants[0]) / SECOND_US) for at_us in instants]
