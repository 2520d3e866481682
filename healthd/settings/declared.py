"""The checks that the settings declare → model.DeclaredCheck, with everything filled in."""

from __future__ import annotations

from collections.abc import Iterator

from healthd.model import (
    Aspect,
    Check,
    CheckKey,
    DeclaredCheck,
    Endpoint,
    ExecSpec,
    HeartbeatSpec,
    HttpSpec,
    Rules,
    Spec,
    TcpSpec,
    UnitName,
)
from healthd.settings.check_keys import KINDS, CheckKeys, ExecKeys, HttpKeys, TcpKeys, TimingKeys
from healthd.settings.decode import readable
from healthd.settings.endpoints import endpoints_of, find_endpoint, is_remote
from healthd.settings.ground import Ground, Steps
from healthd.settings.heartbeats import heartbeat_check, judge_heartbeat
from healthd.settings.programs import judge_file, judge_program
from healthd.settings.timespan import timespan_text
from healthd.settings.timing import judge_timing, rules_of


def declared_checks(ground: Ground) -> tuple[DeclaredCheck, ...]:
    """Every check whose kind is built, units in the order of the files, a unit's in theirs."""
    judge_timing(rules_of(TimingKeys(), ground.root.defaults), ("defaults",), ground)
    endpoints = endpoints_of(ground)
    return tuple(
        check
        for unit, checks in ground.root.checks.items()
        for check in _checks_of(unit, checks, endpoints, ground)
    )


def _checks_of(
    unit: str, checks: tuple[CheckKeys, ...], endpoints: dict[str, Endpoint], ground: Ground
) -> Iterator[DeclaredCheck]:
    names: set[str] = set()
    for place, check in readable(checks):
        steps: Steps = ("checks", unit, place)
        if check.name in names:
            found = f"a second check named {check.name}" if check.name else "a check without a name"
            ground.fault(steps, found, "a name of its own for each check after the first")
        names.add(check.name)
        own = ground.root.units.get(unit)
        rules = rules_of(check, ground.root.defaults, own.grace if own else None)
        judge_timing(rules, steps, ground)
        _judge_repair(check, steps, ground)
        spec = _spec(check, steps, rules, endpoints, ground)
        needs = _needs(own.needs if own else None, check.needs)
        if check.heartbeat is not None and spec is not None:
            judge_heartbeat(unit, steps, ground)
            within_us = check.heartbeat.within or 0
            made = heartbeat_check(UnitName(unit), within_us, needs, said=True)
            yield DeclaredCheck(made, spec)
        elif spec is not None:
            yield DeclaredCheck(_check(unit, check, rules, spec, needs), spec)


def _needs(
    of_unit: tuple[str, ...] | None, of_check: tuple[str, ...] | None
) -> tuple[UnitName, ...] | None:
    """What a check depends on: what its unit does and its own; `[]` of its own means none."""
    if of_check == ():
        return ()
    if of_unit is None and of_check is None:
        return None
    both = [UnitName(name) for names in (of_unit, of_check) for _, name in readable(names or ())]
    return tuple(dict.fromkeys(both))


def _check(
    unit: str, said: CheckKeys, rules: Rules, spec: Spec, needs: tuple[UnitName, ...] | None
) -> Check:
    name = f"{unit}/{said.name}" if said.name else unit
    return Check(
        key=CheckKey(f"{said.aspect}:{name}"),
        aspect=Aspect(said.aspect.value),
        kind=_kind(spec),
        unit=UnitName(unit),
        rules=rules,
        declared=True,
        repair_unit=UnitName(said.repair),
        needs=needs,
        remote=isinstance(spec, HttpSpec | TcpSpec) and is_remote(spec.endpoint),
    )


def _kind(spec: Spec) -> str:
    match spec:
        case HttpSpec():
            return "http"
        case TcpSpec():
            return "tcp"
        case ExecSpec():
            return "exec"
        case HeartbeatSpec():
            return "heartbeat"


def _judge_repair(check: CheckKeys, steps: Steps, ground: Ground) -> None:
    if check.repair and check.repair not in ground.allowed:
        ground.fault(
            (*steps, "repair"),
            f"repair: {check.repair}",
            "a service that repair.allow_restart lists as well",
        )


def _spec(
    check: CheckKeys, steps: Steps, rules: Rules, endpoints: dict[str, Endpoint], ground: Ground
) -> Spec | None:
    written = [key for key in ground.written(steps) if key in KINDS]
    if len(written) != 1:
        found = (
            f"a check with the kinds {' and '.join(written)}"
            if written
            else "a check without a kind"
        )
        ground.fault(steps, found, f"one of {', '.join(KINDS)}")
        return None
    if check.http is not None:
        return _http(check.http, (*steps, "http"), rules, endpoints, ground)
    if check.tcp is not None:
        return _tcp(check.tcp, (*steps, "tcp"), endpoints, ground)
    if check.exec is not None:
        return _exec(check.exec, (*steps, "exec"), ground)
    return HeartbeatSpec() if check.heartbeat is not None else None


def _http(
    said: HttpKeys, steps: Steps, rules: Rules, endpoints: dict[str, Endpoint], ground: Ground
) -> HttpSpec | None:
    endpoint = find_endpoint(said.endpoint, steps, endpoints, ground)
    judge_file(said.ca, (*steps, "ca"), ground)
    if said.slow is not None and not 0 < said.slow < rules.timeout_us:
        ground.fault(
            (*steps, "slow"),
            f"slow: {timespan_text(said.slow)}",
            f"more than 0 and less than timeout, which is {timespan_text(rules.timeout_us)}",
        )
    if said.certificate is not None and said.tls is False:
        ground.fault(
            (*steps, "certificate"), "certificate beside tls: false", "certificate with TLS"
        )
    if any(name.lower() == "host" for name in said.headers):
        ground.fault((*steps, "headers"), "the header Host", "the key host instead")
    if endpoint is None:
        return None
    return HttpSpec(
        endpoint,
        path=said.path,
        method=said.method.value,
        headers=tuple(said.headers.items()),
        status=tuple(code for _, code in readable(said.status)),
        body=said.body,
        matches=said.matches,
        slow_for_us=said.slow or 0,
        certificate_for_us=said.certificate or 0,
        tls=said.certificate is not None if said.tls is None else said.tls,
        host=said.host,
        ca=said.ca,
    )


def _tcp(
    said: TcpKeys, steps: Steps, endpoints: dict[str, Endpoint], ground: Ground
) -> TcpSpec | None:
    endpoint = find_endpoint(said.endpoint, steps, endpoints, ground)
    judge_file(said.ca, (*steps, "ca"), ground)
    if endpoint is None:
        return None
    return TcpSpec(
        endpoint,
        send=said.send.encode(),
        expect=said.expect.encode(),
        tls=said.tls,
        host=said.host,
        ca=said.ca,
    )


def _exec(said: ExecKeys, steps: Steps, ground: Ground) -> ExecSpec | None:
    words = tuple(word for _, word in readable(said.command))
    if not words:
        ground.fault((*steps, "command"), "an empty command", "a program and its arguments")
        return None
    judge_program(words[0], (*steps, "command", 0), ground)
    return ExecSpec(words, said.protocol)
