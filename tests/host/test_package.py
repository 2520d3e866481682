"""What installing, hardening and purging the package does to a real Debian."""

from __future__ import annotations

from tests.host import package
from tests.host.machine import Host

#: Where packages, logs, caches and accounts leave their own traces, whatever was installed.
NOT_OURS = (
    "/etc/group",
    "/etc/gshadow",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/subgid",
    "/etc/subuid",
    "/root/",
    "/var/cache/",
    "/var/lib/dpkg/",
    "/var/lib/systemd/catalog/",
    "/var/log/",
)


def _files(host: Host) -> set[str]:
    found = host.run("find", "/etc", "/usr", "/var", "/root", "/opt", "/srv", "-xdev")
    return {path for path in found.out.splitlines() if not path.startswith(NOT_OURS)}


def _is_active(host: Host) -> bool:
    return host.run("systemctl", "is-active", "--quiet", "healthd.service", check=False).rc == 0


def test_runs_and_owns_its_name_from_the_first_start(bare_host: Host) -> None:
    """The bus reads our policy before our user exists; the first start must get its name anyway."""
    bare_host.install(*package.packages())
    assert _is_active(bare_host)
    status = bare_host.run("busctl", "status", "org.healthd1").out
    assert "\nUnit=healthd.service" in status
    assert bare_host.unit_property("healthd.service", "NRestarts") == "0"


def test_is_started_at_boot(host: Host) -> None:
    """A watcher that is gone after the next reboot watches nothing."""
    assert host.run("systemctl", "is-enabled", "healthd.service").out.strip() == "enabled"


def test_runs_as_its_own_user_in_a_tight_sandbox(host: Host) -> None:
    """What healthd may do is its owner's first question; 1.4 is the promise of the manual."""
    assert host.unit_property("healthd.service", "User") == "healthd"
    judged = host.run(
        *("systemd-analyze", "security", "--no-pager", "--threshold=14", "healthd.service"),
        check=False,
    )
    assert judged.rc == 0, judged.out


def test_settings_and_state_are_closed_to_others(host: Host) -> None:
    """Settings may name the files of secrets; the store has the incidents of all users."""
    shown = host.run("stat", "--format=%U:%G %a %n", "/etc/healthd", "/var/lib/healthd").out
    assert shown.splitlines() == [
        "root:healthd 750 /etc/healthd",
        "healthd:healthd 700 /var/lib/healthd",
    ]


def test_another_user_cannot_take_the_name(fresh_host: Host) -> None:
    """Whoever owned org.healthd1 could tell the whole machine that all is well."""
    fresh_host.run("systemctl", "stop", "healthd.service")
    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    asked = fresh_host.run(
        "busctl", "call", *bus, "RequestName", "su", "org.healthd1", "4", user="nobody", check=False
    )
    assert asked.rc != 0
    assert "denied" in asked.err


def test_purge_leaves_only_the_user(bare_host: Host) -> None:
    """Policy wants the user to stay; anything else that stays is ours to explain."""
    before = _files(bare_host)
    bare_host.install(*package.packages())
    bare_host.write("/etc/healthd/healthd.yaml", "", mode=0o640, owner="root:healthd")
    assert _files(bare_host) > before
    bare_host.run("dpkg", "--purge", "healthd", timeout_s=120)
    assert _files(bare_host) - before == set()
    assert bare_host.run("id", "-un", "healthd").out.strip() == "healthd"
    assert bare_host.run("systemctl", "--failed", "--plain", "--no-legend").out == ""


def test_polkit_rule_goes_with_the_daemon(fresh_host: Host) -> None:
    """A rule that outlives its daemon is a permission that nobody uses and nobody sees."""
    fresh_host.run("systemctl", "restart", "healthd.service")
    fresh_host.run("systemctl", "stop", "healthd.service")
    assert fresh_host.run("find", "/etc/polkit-1/rules.d", "-name", "*healthd*").out == ""
