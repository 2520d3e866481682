"""What may be restarted, in words, and the rule that makes polkit think the same."""

from __future__ import annotations

import json
import re

import pytest

from healthd.model import NEVER_RESTART, Policy
from healthd.repairs.allowlist import Refusal, fitting, may_restart, render_rule

ALLOW = frozenset({"nginx.service", "dbus.service", "worker@1.service"})


def test_a_listed_unit_may_be_restarted() -> None:
    """The list is the owner's word."""
    assert may_restart("nginx.service", ALLOW, NEVER_RESTART) is None


@pytest.mark.parametrize("unit", ["redis.service", "worker@2.service", "nginx", "NGINX.service"])
def test_another_unit_may_not(unit: str) -> None:
    """A name fits itself only, and one instance says nothing of the next."""
    assert may_restart(unit, ALLOW, NEVER_RESTART) == Refusal(
        f"{unit} is not listed in repair.allow_restart",
        "list it in /etc/healthd/healthd.yaml, then: systemctl reload healthd",
    )


def test_never_beats_the_list() -> None:
    """A list that was rendered before a rule changed must not take the bus down."""
    assert may_restart("dbus.service", ALLOW, NEVER_RESTART) == Refusal(
        "healthd never restarts dbus.service (it fits dbus*)",
        "run: systemctl restart dbus.service",
    )


def test_the_owners_patterns_count_as_the_built_in_ones() -> None:
    """`never_restart` of the settings is handed in with the others."""
    refusal = may_restart("nginx.service", ALLOW, (*NEVER_RESTART, "nginx.service"))
    assert refusal is not None
    assert refusal.message == "healthd never restarts nginx.service"


@pytest.mark.parametrize(
    "unit",
    [
        *("healthd.service", "healthd-mail@1.service", "dbus.service", "dbus-broker.service"),
        *(
            "polkit.service",
            "systemd-logind.service",
            "systemd-journald.service",
            "elogind.service",
        ),
        *("user@1000.service", "user-runtime-dir@1000.service", "init.scope", "rescue.service"),
        *("getty@tty1.service", "serial-getty@ttyS0.service", "console-getty.service"),
        *("gdm.service", "gdm3.service", "sddm.service", "lightdm.service", "greetd.service"),
        *("display-manager.service", "systemd-poweroff.service", "systemd-user-sessions.service"),
    ],
)
def test_what_everything_stands_on_is_never_restarted(unit: str) -> None:
    """A restart of these ends sessions, the bus or healthd itself."""
    assert may_restart(unit, {unit}, Policy().never_restart) is not None


@pytest.mark.parametrize(
    "unit",
    ["nginx.service", "ssh.service", "postgresql@17-main.service", "NetworkManager.service"],
)
def test_ordinary_services_fit_no_built_in_pattern(unit: str) -> None:
    """Whether they are restarted is for their owner to say."""
    assert fitting(unit, NEVER_RESTART) == ""


def _names(rule: str) -> list[str]:
    literal = re.search(r"var units = (\[.*?\]);", rule, re.DOTALL)
    assert literal is not None
    names = json.loads(literal[1])
    assert isinstance(names, list)
    return names


def test_the_rule_holds_the_list_and_nothing_else() -> None:
    """polkit compares whole names with those of the request."""
    rule = render_rule(["b.service", "a.service", "b.service"])
    assert _names(rule) == ["a.service", "b.service"]
    assert render_rule(["a.service", "b.service"]) == rule


def test_no_list_is_a_rule_that_refuses() -> None:
    """For healthd itself: other rules are not asked what this one already denied."""
    assert _names(render_rule([])) == []
    assert "polkit.Result.NO;" in render_rule([])


@pytest.mark.parametrize("name", ['a"; x.service', "a\\x2db.service", "a\u2028b.service", "a'b"])
def test_a_name_cannot_leave_its_literal(name: str) -> None:
    """Names come from a file; the rule is a program that polkit runs."""
    rule = render_rule([name])
    assert rule.isascii()
    assert _names(rule) == [name]


def test_the_rule_says_yes_in_one_place() -> None:
    """To one user, for one verb, for a name on the list: all of it in one condition."""
    rule = render_rule(ALLOW)
    assert rule.count("polkit.Result.YES") == 1
    condition = re.search(r"if \(([^{]*)\) \{\s*return polkit\.Result\.YES;", rule)
    assert condition is not None
    assert " ".join(condition[1].split()) == (
        'action.id === "org.freedesktop.systemd1.manage-units" && '
        'action.lookup("verb") === "restart" && '
        'units.indexOf(action.lookup("unit")) >= 0'
    )
    before = rule[: condition.start()]
    assert 'subject.user !== "healthd"' in before
    assert before.rstrip().splitlines()[-1].lstrip().startswith("//")
    assert "return polkit.Result.NOT_HANDLED;" in before
