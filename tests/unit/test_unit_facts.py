"""systemd's properties become facts; hostile and unknown values decide nothing."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthd.host.unit_facts import (
    DURATIONS,
    INFINITY,
    INSTANTS,
    MACHINE_ACTIONS,
    NUMBERS,
    RELATIONS,
    SWITCHES,
    TEXTS,
    decode,
    merge,
)
from healthd.host.unit_path import unit_name, unit_path
from healthd.model import ActiveState, LoadState, UnitFacts

OFFSET_US = 7_000_000
NGINX: dict[str, object] = {
    "Id": "nginx.service",
    "Names": ["nginx.service", "web.service"],
    "LoadState": "loaded",
    "ActiveState": "failed",
    "SubState": "failed",
    "Type": "forking",
    "Result": "exit-code",
    "Restart": "on-failure",
    "RestartUSec": 100_000,
    "RestartUSecNext": 400_000,
    "NRestarts": 3,
    "ExecMainCode": 1,
    "ExecMainStatus": 203,
    "InvocationID": bytes(range(16)),
    "Job": [17, "/org/freedesktop/systemd1/job/17"],
    "TimeoutStartUSec": INFINITY,
    "TimeoutStopUSec": 5_000_000,
    "ActiveEnterTimestampMonotonic": 1_000_000,
    "ActiveExitTimestampMonotonic": 0,
    "ConditionResult": True,
    "ConditionTimestampMonotonic": 900_000,
    "AssertResult": False,
    "AssertTimestampMonotonic": 0,
    "Conflicts": ["shutdown.target", "apache2.service"],
    "ConflictedBy": ["apache2.service", "caddy.service"],
    "Requires": ["system.slice"],
    "BindsTo": ["dev-x.device"],
    "RequiredBy": ["site.service"],
    "ConsistsOf": ["site.service", "cache.service"],
    "PropagatesStopTo": ["log.service"],
    "FailureAction": "none",
    "StartLimitAction": "reboot",
}


def test_a_service_is_decoded() -> None:
    """Every decision about a unit starts from these values."""
    facts = decode(NGINX, OFFSET_US)
    assert facts.id == "nginx.service"
    assert facts.names == ("nginx.service", "web.service")
    assert (facts.load_state, facts.active_state) == (LoadState.LOADED, ActiveState.FAILED)
    assert (facts.result, facts.exit_code, facts.exit_status) == ("exit-code", 1, 203)
    assert facts.invocation == "000102030405060708090a0b0c0d0e0f"
    assert facts.job == 17
    assert facts.n_restarts == 3
    assert facts.acts_on_machine


def test_stamps_are_steady_and_never_stays_never() -> None:
    """0 means "never"; a shifted 0 would be an instant."""
    facts = decode(NGINX, OFFSET_US)
    assert facts.active_enter_us == 8_000_000
    assert facts.active_exit_us == 0


def test_infinity_and_the_next_delay_are_understood() -> None:
    """A unit without a timeout is never stuck; the delay of the next restart is what counts."""
    facts = decode(NGINX, OFFSET_US)
    assert facts.timeout_start_for_us == -1
    assert facts.timeout_stop_for_us == 5_000_000
    assert facts.restart_delay_for_us == 400_000
    old = {key: value for key, value in NGINX.items() if key != "RestartUSecNext"}
    assert decode(old, OFFSET_US).restart_delay_for_us == 100_000


def test_a_delay_that_grows_has_a_limit() -> None:
    """RestartMaxDelaySec= means something only where RestartSteps= is set."""
    grows = NGINX | {"RestartSteps": 5, "RestartMaxDelayUSec": 60_000_000}
    assert decode(grows, OFFSET_US).restart_delay_max_for_us == 60_000_000
    assert decode(grows | {"RestartSteps": 0}, OFFSET_US).restart_delay_max_for_us == 0
    endless = grows | {"RestartMaxDelayUSec": INFINITY}
    assert decode(endless, OFFSET_US).restart_delay_max_for_us == 0


def test_relations_are_joined_and_the_end_of_all_is_no_foe() -> None:
    """Every service conflicts with shutdown.target, which is no reason not to restart it."""
    facts = decode(NGINX, OFFSET_US)
    assert facts.foes == ("apache2.service", "caddy.service")
    assert facts.providers == ("system.slice", "dev-x.device")
    assert facts.taken_along == ("site.service", "cache.service")
    assert facts.stays_down == ("log.service",)


@pytest.mark.parametrize("action", MACHINE_ACTIONS)
def test_any_action_on_the_machine_is_seen(action: str) -> None:
    """A restart that fails must not reboot the machine."""
    quiet = dict.fromkeys(MACHINE_ACTIONS, "none")
    assert not decode(quiet, 0).acts_on_machine
    assert decode(quiet | {action: "poweroff-force"}, 0).acts_on_machine


def test_a_condition_that_was_not_met_is_named() -> None:
    """The owner reads why a unit rests; an untested condition says nothing."""
    rows = [
        ["ConditionPathExists", False, True, "/etc/off", -1],
        ("ConditionVirtualization", True, False, "vm", -1),
        ["ConditionACPower", False, False, "true", 0],
        ["ConditionKernelVersion", False, False, ">5", 1],
    ]
    looked_at = {"ConditionResult": False, "ConditionTimestampMonotonic": 5, "Conditions": rows}
    facts = decode(looked_at, 0)
    assert (facts.condition_checked, facts.condition_met) == (True, False)
    assert facts.conditions_failed == (
        "ConditionPathExists=!/etc/off",
        "ConditionVirtualization=|vm",
    )
    never = decode(looked_at | {"ConditionTimestampMonotonic": 0}, 0)
    assert (never.condition_checked, never.condition_met) == (False, True)


def test_a_signal_changes_what_it_names_and_nothing_else() -> None:
    """One crash is fourteen signals; each carries a part of the state."""
    before = decode(NGINX, OFFSET_US)
    changed = {"ActiveState": "activating", "SubState": "auto-restart", "Job": 0}
    after = merge(before, "Unit", changed, OFFSET_US)
    assert (after.active_state, after.sub_state, after.job) == (
        ActiveState.ACTIVATING,
        "auto-restart",
        0,
    )
    assert after.result == "exit-code"
    assert after.names == before.names
    assert merge(before, "Service", {"NRestarts": 4}, OFFSET_US).n_restarts == 4
    assert merge(before, "Scope", {"Result": "success"}, OFFSET_US) == before


def test_a_signal_keeps_the_lines_of_a_condition_until_it_is_met() -> None:
    """Signals carry the result without the lines."""
    rows = [["ConditionPathExists", False, False, "/x", -1]]
    unmet: dict[str, object] = {"ConditionResult": False, "ConditionTimestampMonotonic": 5}
    before = decode(unmet | {"Conditions": rows}, 0)
    assert merge(before, "Unit", unmet, 0).conditions_failed == ("ConditionPathExists=/x",)
    met = merge(before, "Unit", {"ConditionResult": True, "ConditionTimestampMonotonic": 9}, 0)
    assert (met.condition_met, met.conditions_failed) == (True, ())


def test_values_of_a_newer_systemd_are_unknown_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A new state must neither alarm, nor stop healthd, nor fill the journal."""
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        facts = decode({"ActiveState": "hibernating", "LoadState": "cached"}, 0)
        assert facts.active_state is ActiveState.UNKNOWN
        assert facts.load_state is LoadState.UNKNOWN
    assert len([r for r in caplog.records if "hibernating" in r.getMessage()]) == 1


PROPERTY = st.sampled_from(
    [
        *(*TEXTS.values(), *INSTANTS.values(), *DURATIONS.values(), *NUMBERS.values()),
        *(*SWITCHES.values(), *(name for names in RELATIONS.values() for name in names)),
        *("Id", "Names", "LoadState", "ActiveState", "InvocationID", "Job", "RestartUSec"),
        *("ConditionResult", "ConditionTimestampMonotonic", "Conditions", "Asserts"),
        *("AssertResult", "AssertTimestampMonotonic", *MACHINE_ACTIONS),
    ]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(st.dictionaries(PROPERTY, VALUE))
def test_hostile_values_never_raise_and_never_change_a_type(
    properties: dict[str, object],
) -> None:
    """What comes over the bus is decoded once, here; everything behind trusts it."""
    plain = UnitFacts(id=decode({}, 0).id)
    for facts in (decode(properties, OFFSET_US), merge(plain, "Unit", properties, OFFSET_US)):
        for field in plain.__struct_fields__:
            assert isinstance(getattr(facts, field), type(getattr(plain, field))), field


@pytest.mark.parametrize(
    ("unit", "path"),
    [
        ("nginx.service", "nginx_2eservice"),
        ("tmpl@a-b.service", "tmpl_40a_2db_2eservice"),
        ("389-ds.service", "_3389_2dds_2eservice"),
        ("é.service", "_c3_a9_2eservice"),
        ("dev-disk-by\\x2did.device", "dev_2ddisk_2dby_5cx2did_2edevice"),
    ],
)
def test_paths_are_escaped_as_systemd_does(unit: str, path: str) -> None:
    """A wrong path loads a unit that is not there."""
    full = f"/org/freedesktop/systemd1/unit/{path}"
    assert unit_path(unit) == full
    assert unit_name(full) == unit


@given(st.text(min_size=1, max_size=40))
def test_every_name_survives_its_path(name: str) -> None:
    """Signals name units by path only."""
    assert unit_name(unit_path(name)) == name


@pytest.mark.parametrize(
    "path", ["/", "", "/org/freedesktop/systemd1", "/org/freedesktop/systemd1/unit/a_zz", "/x/a"]
)
def test_other_paths_are_no_units(path: str) -> None:
    """Anything may come as a path."""
    assert unit_name(path) == ""
