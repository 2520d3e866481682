"""What settings that hold come to: the policy, the declared checks, and what later files change."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthd.model import (
    HEARTBEAT_RULES,
    HOUR_US,
    MINUTE_US,
    NEVER_RESTART,
    SECOND_US,
    UNIT_RULES,
    Aspect,
    Budget,
    CrashLoop,
    DeclaredCheck,
    Endpoint,
    ExecProtocol,
    ExecSpec,
    HttpSpec,
    Policy,
    Rules,
    TcpSpec,
    UnitName,
)
from healthd.settings.files import Source
from healthd.settings.load import Reading, fallback, read
from healthd.settings.settings import Settings, UnitSettings

EXAMPLE = Path(__file__).with_name("test_settings_example.yaml").read_text()
LISTENS = "listens: {web: {address: '127.0.0.1:80'}, far: {address: 'example.org:443'}}\n"
DAY_US = 24 * HOUR_US


def _reading(*texts: str, environ: dict[str, str] | None = None, top: Path = Path("/")) -> Reading:
    sources = tuple(Source(f"{n}.yaml", text) for n, text in enumerate(texts))
    reading = read(sources, (), environ or {}, top)
    assert [str(fault) for fault in reading.faults] == []
    return reading


def _settings(*texts: str, environ: dict[str, str] | None = None) -> Settings:
    return _reading(*texts, environ=environ).settings


def _check(*texts: str) -> DeclaredCheck:
    (check,) = _settings(LISTENS, *texts).checks()
    return check


@pytest.fixture
def example(tmp_path: Path) -> Reading:
    """The example that holds every key, on a machine that has its plug-in."""
    plugin = tmp_path / "usr/lib/nagios/plugins/check_http"
    plugin.parent.mkdir(parents=True)
    plugin.touch(mode=0o755)
    return _reading(EXAMPLE, top=tmp_path)


def test_no_file_means_the_defaults() -> None:
    """An empty file is a good configuration, and so is none; it allows nothing."""
    assert _settings() == Settings()
    assert _settings("", "# nothing\n", "checks:\nrepair:\n") == Settings()
    assert Settings().policy() == Policy()
    assert Settings().policy().allow_restart == frozenset()
    assert Settings().checks() == ()


def test_the_example_of_everything_holds(example: Reading) -> None:
    """Every key that is promised is taken, also where its part is not built yet."""
    settings = example.settings
    assert settings.policy() == Policy(
        allow_restart=frozenset(
            (
                *("nginx.service", "worker@1.service", "worker@2.service"),
                *("backup.service", "fix-web.service"),
            )
        ),
        never_restart=(*NEVER_RESTART, "postgresql*.service"),
    )
    assert settings.units == {
        "postgresql.service": UnitSettings(grace_us=10 * MINUTE_US, repair=False, needs=()),
        "flaky.service": UnitSettings(watch=False),
    }
    assert (settings.keep_us, settings.size_bytes) == (400 * DAY_US, 256 << 20)


def test_the_example_says_what_is_not_built(example: Reading) -> None:
    """A key that is accepted and does nothing yet must say so."""
    assert [note.words.removesuffix(": not built yet") for note in example.notes] == [
        *("credential", "runtime", "tool", "host", "credentials"),
        *("diagnose_credentials", "owners", "channels", "mail", "webhook", "apprise"),
        *("alertmanager", "coverage"),
    ]


def test_the_example_declares_its_checks(example: Reading) -> None:
    """Keys, kinds and specs as the rest of healthd will see them."""
    web, admin, redis, backup = example.settings.checks()
    assert (web.check.key, web.check.kind) == ("readiness:nginx.service", "http")
    assert web.check.repair_unit == "fix-web.service"
    assert web.spec == HttpSpec(
        Endpoint("web", unit=UnitName("nginx.socket")),
        path="/healthz",
        status=(200, 204),
        body="ok",
        slow_for_us=500_000,
        certificate_for_us=14 * DAY_US,
        tls=True,
    )
    assert (admin.check.key, admin.check.aspect) == (
        "function:nginx.service/admin",
        Aspect.FUNCTION,
    )
    assert admin.spec == ExecSpec(
        ("/usr/lib/nagios/plugins/check_http", "-H", "localhost"), ExecProtocol.NAGIOS
    )
    assert redis.spec == TcpSpec(
        Endpoint("redis", host="127.0.0.1", port=6379), send=b"PING\r\n", expect=b"+PONG"
    )
    assert redis.check.declared
    assert redis.check.rules == Rules()
    assert (backup.check.key, backup.check.kind) == ("heartbeat:backup.timer", "heartbeat")
    assert (backup.check.within_us, backup.check.rules) == (26 * HOUR_US, HEARTBEAT_RULES)


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("", Rules()),
        ("every: 10s", Rules(every_us=10 * SECOND_US, retry_us=10 * SECOND_US)),
        ("every: 5min", Rules(every_us=5 * MINUTE_US, retry_us=15 * SECOND_US)),
        ("retry: 1min", Rules(retry_us=MINUTE_US)),
        ("grace: 0s, settle: 1, after: 2", Rules(grace_us=0, settle=1, after=2)),
        ("timeout: 1s", Rules(timeout_us=SECOND_US)),
    ],
)
def test_timing_that_is_not_said_is_the_usual(said: str, rules: Rules) -> None:
    """Whoever looks every 10 s wants to confirm as fast; all else has its default."""
    check = _check(f"checks: {{a.service: {{tcp: {{endpoint: web}}, {said}}}}}")
    assert check.check.rules == rules


def test_the_nearer_word_on_timing_counts() -> None:
    """The check's own, then its unit's grace, then the defaults."""
    defaults = "defaults: {every: 20s, grace: 5s, retry: 12s, after: 4}\n"
    units = "units: {a.service: {grace: 10min}}\n"
    text = "checks: {a.service: {tcp: {endpoint: web}, after: 2}}\n"
    assert _check(defaults, units, text).check.rules == Rules(
        every_us=20 * SECOND_US,
        after=2,
        retry_us=12 * SECOND_US,
        grace_us=10 * MINUTE_US,
    )


def test_a_units_grace_is_its_liveness_grace() -> None:
    """postgresql recovers for minutes after a crash; nobody else's timing changes."""
    settings = _settings("units: {postgresql.service: {grace: 10min}}\n")
    assert settings.unit_rules("postgresql.service").grace_us == 10 * MINUTE_US
    assert settings.unit_rules("other.service") == UNIT_RULES


@pytest.mark.parametrize(
    ("address", "is_remote"),
    [
        ("127.0.0.1:80", False),
        ("127.9.9.9:80", False),
        ("[::1]:80", False),
        ("localhost:80", False),
        ("app.localhost:80", False),
        ("0.0.0.0:80", False),
        ("192.0.2.1:80", True),
        ("[2001:db8::1]:80", True),
        ("example.org:80", True),
        ("localhost.example.org:80", True),
    ],
)
def test_addresses_that_may_be_elsewhere(address: str, is_remote: bool) -> None:
    """Nothing leaves this machine unless its owner said so."""
    text = f"listens: {{x: {{address: '{address}'}}}}\n"
    (check,) = _settings(text, "checks: {a.service: {tcp: {endpoint: x}}}").checks()
    assert check.check.remote is is_remote


@pytest.mark.parametrize(
    ("said", "tls"),
    [("", False), ("certificate: 1d", True), ("tls: true", True), ("tls: false", False)],
)
def test_a_question_about_the_certificate_means_tls(said: str, tls: bool) -> None:
    """Nobody has to say twice that an endpoint speaks TLS."""
    spec = _check(f"checks: {{a.service: {{http: {{endpoint: web, {said}}}}}}}").spec
    assert isinstance(spec, HttpSpec)
    assert spec.tls is tls


def test_policy_holds_all_that_the_judge_asks() -> None:
    """A value that is read and not passed on would be a promise without effect."""
    settings = _settings(
        "enabled: false\nnetwork: true\n"
        "watch: {enabled: false, crash_loop: {restarts: 5, within: 1h, quiet: 0s}}\n"
        "repair: {allow_restart: [a.service], never_restart: ['b*'], max_attempts: 0,\n"
        "  backoff: [1s], budget: {unit: 1 per 1d, machine: 9 per 1min}}\n"
        "notify: {renotify: 1d, self_healed: true}\n"
    )
    assert settings.policy() == Policy(
        enabled=False,
        watch_enabled=False,
        network=True,
        allow_restart=frozenset({"a.service"}),
        never_restart=(*NEVER_RESTART, "b*"),
        max_attempts=0,
        backoff_us=(SECOND_US,),
        unit_budget=Budget(1, DAY_US),
        machine_budget=Budget(9, MINUTE_US),
        crash_loop=CrashLoop(5, HOUR_US, 0),
        renotify_us=DAY_US,
        self_healed=True,
    )


def test_a_unit_without_repair_is_left_to_people() -> None:
    """`repair: false` takes it from the judge's list; a person may still ask for it."""
    settings = _settings(
        "repair: {allow_restart: [a.service, b.service]}\nunits: {a.service: {repair: false}}\n"
    )
    assert settings.policy().allow_restart == {"b.service"}
    assert settings.allow_restart == ("a.service", "b.service")


def test_a_unit_without_watch_has_no_check() -> None:
    """Neither its liveness nor what is declared for it."""
    settings = _settings(
        LISTENS,
        "units: {a.service: {watch: false}}\nchecks: {a.service: {tcp: {endpoint: web}}}\n",
    )
    assert settings.checks() == ()
    assert settings.ignored("a.service") == "watch: false"


def test_every_unit_that_is_named_is_known() -> None:
    """One that does not exist is shown as a matter of configuration, at run time."""
    settings = _settings(
        LISTENS,
        "units: {a.service: {needs: [b.service]}}\n"
        "repair: {allow_restart: [c.service]}\n"
        "checks: {d.timer: {tcp: {endpoint: web}, repair: c.service}}\n",
    )
    assert settings.named_units() == {"a.service", "b.service", "c.service", "d.timer"}


@pytest.mark.parametrize(
    ("text", "environ", "switches"),
    [
        ("", {}, (True, True, False)),
        ("", {"HEALTHD_ENABLED": "0"}, (False, True, False)),
        ("", {"HEALTHD_WATCH_ENABLED": "0"}, (True, False, False)),
        ("", {"HEALTHD_NET_PROBE": "1"}, (True, True, True)),
        ("network: true", {"HEALTHD_NET_PROBE": "0"}, (True, True, True)),
        ("enabled: false", {"HEALTHD_ENABLED": "1"}, (False, True, False)),
        ("", {"HEALTHD_ENABLED": "", "HEALTHD_NET_PROBE": ""}, (True, True, False)),
        ("", {"HEALTHD_ENABLED": "false"}, (False, True, False)),
    ],
)
def test_the_environment_wins_one_way(
    text: str, environ: dict[str, str], switches: tuple[bool, bool, bool]
) -> None:
    """It switches off, and lets checks out; it never takes the owner's own word back."""
    settings = _settings(text, environ=environ)
    assert (settings.enabled, settings.watch_enabled, settings.network) == switches


def test_faulty_settings_leave_the_switches_working() -> None:
    """What healthd runs with at a faulty start: defaults, nothing allowed, and still to be off."""
    assert fallback({"HEALTHD_ENABLED": "0", "HEALTHD_NET_PROBE": "what?"}) == Settings(
        enabled=False
    )


# ---- several files


def test_later_words_win_lists_add_keys_merge() -> None:
    """A drop-in changes what it says and nothing else."""
    settings = _settings(
        "network: true\nrepair: {allow_restart: [a.service], max_attempts: 1}\n",
        "network: false\nrepair: {allow_restart: [b.service]}\n",
        "repair:\n",
    )
    assert not settings.network
    assert settings.allow_restart == ("a.service", "b.service")
    assert settings.max_attempts == 1


def test_an_empty_list_takes_back_what_was_said() -> None:
    """As an empty assignment does for systemd; a third file can then say it anew."""
    lists = ("[a.service]", "[]", "[c.service]")
    texts = [f"repair: {{allow_restart: {names}}}\n" for names in lists]
    assert _settings(*texts[:2]).allow_restart == ()
    assert _settings(*texts).allow_restart == ("c.service",)


def test_pauses_and_commands_are_one_value() -> None:
    """Half of one command with half of another runs neither."""
    settings = _settings(
        "repair: {backoff: [1s, 2s]}\nchecks: {a.service: {exec: {command: [/bin/sh, -c, x]}}}\n",
        "repair: {backoff: [3s]}\nchecks: {a.service: {exec: {command: [/bin/sh]}}}\n",
    )
    assert settings.backoff_us == (3 * SECOND_US,)
    assert settings.checks()[0].spec == ExecSpec(("/bin/sh",))


def test_a_drop_in_retimes_a_vendors_check() -> None:
    """Checks of one unit are known by their names, and one of the same name is merged."""
    vendor = (
        "checks: {a.service: [{tcp: {endpoint: web}}, {name: b, exec: {command: [/bin/sh]}}]}\n"
    )
    first, second, third = _settings(
        LISTENS,
        vendor,
        "checks: {a.service: [{name: b, every: 1min}, {name: c, tcp: {endpoint: web}}]}\n",
    ).checks()
    assert first.check.rules.every_us == 30 * SECOND_US
    assert second.check.rules.every_us == MINUTE_US
    assert second.spec == ExecSpec(("/bin/sh",))
    assert third.check.key == "readiness:a.service/c"


def test_a_check_of_another_kind_takes_the_place() -> None:
    """Two kinds in one check would be a fault that neither file has."""
    check = _check(
        "checks: {a.service: {http: {endpoint: web}, every: 1min}}\n",
        "checks: {a.service: {tcp: {endpoint: web}}}\n",
    )
    assert check.check.kind == "tcp"
    assert check.check.rules == Rules()


def test_a_fault_that_is_overridden_is_still_a_fault() -> None:
    """It would come back when the drop-in goes."""
    sources = (
        Source("a.yaml", "enabled: maybe\nrepair: {backoff: [x]}\n"),
        Source("b.yaml", "enabled: true\nrepair: {backoff: [1s]}\n"),
    )
    faults = read(sources, (), {}).faults
    assert [(fault.file, fault.line) for fault in faults] == [("a.yaml", 1), ("a.yaml", 2)]


def test_a_fault_names_the_file_it_stands_in() -> None:
    """The tree is one, the places are many."""
    sources = (
        Source("a.yaml", "checks:\n  a.service: {http: {endpoint: w}}\n"),
        Source("b.yaml", "listens: {web: {}}\n"),
    )
    faults = read(sources, (), {}).faults
    assert [(fault.file, fault.line, fault.column) for fault in faults] == [
        ("a.yaml", 2, 32),
        ("b.yaml", 1, 16),
    ]
