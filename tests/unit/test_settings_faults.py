"""Each thing that can be wrong in a settings file: where it is said to be, and in which words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from healthd.settings.faults import Fault, Faults
from healthd.settings.files import Source
from healthd.settings.load import load, read

LISTENS = "listens: {web: {address: '127.0.0.1:80'}}\n"


def _faults(text: str, root: Path = Path("/"), units: tuple[str, ...] = ()) -> tuple[Fault, ...]:
    return read((Source("healthd.yaml", text),), (), {}, root, units).faults


def _fault(text: str) -> str:
    faults = _faults(text)
    assert len(faults) == 1, [str(fault) for fault in faults]
    return str(faults[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "enabld: true\n",
            "healthd.yaml:1:1: found the unknown key enabld; allowed: enabled, network, watch, "
            "defaults, units, listens, checks, host, credentials, repair, notify, store, coverage; "
            "did you mean enabled?",
        ),
        (
            "watch:\n  crash_loop: {restart: 3}\n",
            "healthd.yaml:2:16: found the unknown key restart; allowed: restarts, within, quiet; "
            "did you mean restarts?",
        ),
        ("enabled: maybe\n", "healthd.yaml:1:10: found enabled: maybe; allowed: true or false"),
        ("enabled:\n", "healthd.yaml:1:9: found enabled with nothing behind it; allowed: true or "),
        ("enabled: [true]\n", "healthd.yaml:1:10: found enabled: a list; allowed: true or false"),
        ("watch: 5\n", "healthd.yaml:1:8: found watch: the text 5; allowed: the keys enabled, "),
        (
            "defaults: {grace: 30}\n",
            "healthd.yaml:1:19: found grace: 30; allowed: a time span such as 30s, 5min or "
            "1h 30min; it is a bare number: write 30s, 30min or 30h",
        ),
        (
            "defaults: {every: 9s}\n",
            "healthd.yaml:1:19: found every: 9s; allowed: a time span such as 30s, 5min or "
            "1h 30min, at least 10s",
        ),
        ("defaults: {retry: 5s}\n", "healthd.yaml:1:19: found retry: 5s; allowed: a time span"),
        ("defaults: {after: 1}\n", "healthd.yaml:1:19: found after: 1; allowed: a whole number "),
        ("defaults: {settle: 0}\n", "healthd.yaml:1:20: found settle: 0; allowed: a whole number "),
        (
            "defaults: {every: 10s, timeout: 10s}\n",
            "healthd.yaml:1:33: found timeout: 10s; allowed: less than every, which is 10s",
        ),
        (
            "units: {nginx: {grace: 1min}}\n",
            "healthd.yaml:1:9: found the key nginx under units; allowed: the full name of a unit, "
            "such as nginx.service; did you mean nginx.service?",
        ),
        (
            "watch: {ignore: [getty]}\n",
            "healthd.yaml:1:18: found ignore: getty; allowed: the full name of a unit, with * and "
            "? where it is a pattern, or ! and a name; did you mean getty.service?",
        ),
        (
            "store: {size: 256}\n",
            "healthd.yaml:1:15: found size: 256; allowed: a size such as 256M or 1G, from 16M to "
            "65536M; a bare number has no size: write 256M",
        ),
        ("store: {size: 1M}\n", "healthd.yaml:1:15: found size: 1M; allowed: a size such as 256M "),
        ("notify: {renotify: 1s}\n", "healthd.yaml:1:20: found renotify: 1s; allowed: a time sp"),
        ("repair: {backoff: []}\n", "healthd.yaml:1:19: found backoff: an empty list; allowed: at"),
        (
            "repair: {budget: {unit: 4 an hour}}\n",
            "healthd.yaml:1:25: found unit: 4 an hour; allowed: a number and a span, such as 4 per",
        ),
        (
            "repair: {budget: {unit: 4 per 1}}\n",
            "healthd.yaml:1:25: found unit: 4 per 1; allowed: a number and a span, such as 4 per "
            "1h; the span is a bare number: write 1s, 1min or 1h",
        ),
        ("coverage: {declare_by: soon}\n", "healthd.yaml:1:24: found declare_by: soon; allowed: a"),
        ("host: {disk: {yellow: 101%}}\n", "healthd.yaml:1:23: found yellow: 101%; allowed: a sha"),
        (
            "host: {disk: [1]}\n",
            "healthd.yaml:1:14: found disk: a list; allowed: the keys yellow, ",
        ),
    ],
)
def test_a_value_that_does_not_fit(text: str, words: str) -> None:
    """Place, what was found, what is allowed, and the nearest right word."""
    assert _fault(text).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{unit: nginx.service}",
            "15: found unit: nginx.service; allowed: the full name of a unit",
        ),
        ("{address: '127.0.0.1:0'}", "18: found address: 127.0.0.1:0; allowed: host:port or [v6]"),
        (
            "{address: 'a:70000'}",
            "18: found address: a:70000; allowed: host:port or [v6]:port, a po",
        ),
        (
            "{address: '80'}",
            "18: found address: 80; allowed: host:port or [v6]:port, a port from 1 ",
        ),
        (
            "{address: '::1:80'}",
            "18: found address: ::1:80; allowed: host:port or [v6]:port, a port",
        ),
        (
            "{address: '[::g]:80'}",
            "18: found address: [::g]:80; allowed: host:port or [v6]:port, a ",
        ),
        ("{unix: run/x}", "15: found unix: run/x; allowed: the absolute path of a socket"),
        ("{}", "8: found web with no place to connect to; allowed: exactly one of unit, address a"),
        ("{unix: /x, unit: a.socket}", "8: found web with unix and unit; allowed: exactly one of "),
    ],
)
def test_an_endpoint_that_is_none(text: str, words: str) -> None:
    """A port out of range, a path that is not absolute, two answers to one question."""
    assert _fault(f"listens:\n  web: {text}\n").startswith(f"healthd.yaml:2:{words}")


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            "{http: {endpoint: wbe}}",
            "32: found endpoint: wbe; allowed: a name under listens (web); did you mean web?",
        ),
        ("{http: {path: /}}", "21: found http without endpoint; allowed: http with endpoint"),
        ("{http: {endpoint: web, path: x}}", "43: found path: x; allowed: a path that begins with"),
        ("{http: {endpoint: web, status: 99}}", "45: found status: 99; allowed: a whole number fr"),
        ("{http: {endpoint: web, matches: '('}}", "46: found matches: (; allowed: a regular expre"),
        ("{http: {endpoint: web, slow: 5s}}", "43: found slow: 5s; allowed: more than 0 and less "),
        (
            "{http: {endpoint: web, certificate: 14d, tls: false}}",
            "50: found certificate beside tls: false; allowed: certificate with TLS",
        ),
        (
            "{http: {endpoint: web, headers: {HOST: a}}}",
            "46: found the header Host; allowed: the key host instead",
        ),
        ("{http: {endpoint: web, ca: /no/such}}", "41: found ca: /no/such (no such file or direct"),
        ("{tcp: {endpoint: web, expct: a}}", "36: found the unknown key expct; allowed: endpoint,"),
        (
            "{exec: {command: [true]}}",
            "32: found command: true (not an absolute path); allowed: th",
        ),
        ("{exec: {command: [/no]}}", "32: found command: /no (no such file or directory); allowed"),
        ("{exec: {command: [/etc]}}", "32: found command: /etc (not a file); allowed: the absolut"),
        (
            "{exec: {command: [/etc/passwd]}}",
            "32: found command: /etc/passwd (not executable); allowed: the absolute path of a pro",
        ),
        ("{exec: {command: []}}", "31: found an empty command; allowed: a program and its argumen"),
        (
            "{exec: {command: /bin/true}}",
            "31: found command: the text /bin/true; allowed: a list, ",
        ),
        ("{exec: }", "21: found exec with nothing behind it; allowed: the keys command, protocol"),
        (
            "{every: 30s}",
            "14: found a check without a kind; allowed: one of http, tcp, exec, heart",
        ),
        (
            "{tcp: {endpoint: web}, http: {endpoint: web}}",
            "14: found a check with the kinds tcp and http; allowed: one of http, tcp, exec, hear",
        ),
        (
            "{tcp: {endpoint: web}, timeout: 40s}",
            "46: found timeout: 40s; allowed: less than every, which is 30s",
        ),
        (
            "{tcp: {endpoint: web}, aspect: liveness}",
            "45: found aspect: liveness; allowed: readine",
        ),
        ("{tcp: {endpoint: web}, name: a/b}", "43: found name: a/b; allowed: a word of letters, d"),
        (
            "{tcp: {endpoint: web}, repair: fix.service}",
            "45: found repair: fix.service; allowed: a service that repair.allow_restart lists as",
        ),
        ("[{tcp: {endpoint: web}}, {tcp: {endpoint: web}}]", "39: found a check without a name; a"),
        (
            "[{tcp: {endpoint: web}, name: a}, {tcp: {endpoint: web}, name: a}]",
            "48: found a second check named a; allowed: a name of its own for each check after th",
        ),
    ],
)
def test_a_check_that_cannot_be(check: str, words: str) -> None:
    """Found when the settings are read, not at night when the look fails."""
    fault = _fault(f"{LISTENS}checks:\n  a.service: {check}\n")
    assert fault.startswith(f"healthd.yaml:3:{words}"), fault


def test_a_check_under_a_bare_name() -> None:
    """`nginx` may be a service, a socket or a mount."""
    text = f"{LISTENS}checks:\n  nginx: {{tcp: {{endpoint: web}}}}\n"
    assert _fault(text).endswith("did you mean nginx.service?")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("worker@*.service", "the pattern worker@*.service; allowed: names, each instance by itse"),
        ("worker@.service", "worker@.service; allowed: the full name of a unit that ends in .serv"),
        ("nginx", "nginx; allowed: the full name of a unit that ends in .service; did you mean ng"),
        ("poweroff.target", "poweroff.target; allowed: the full name of a unit that ends in .serv"),
        ("healthd.service", "healthd.service, which is on the list of what healthd never restarts"),
        ("dbus.service", "dbus.service, which is on the list of what healthd never restarts as we"),
        ("user@1000.service", "user@1000.service, which is on the list of what healthd never rest"),
        ("mine.service", "mine.service, which is on the list of never_restart as well (mi*.servic"),
    ],
)
def test_a_name_that_must_not_be_listed(name: str, words: str) -> None:
    """Each entry becomes a yes of polkit for a job that runs as root."""
    text = f"repair:\n  never_restart: ['mi*.service']\n  allow_restart: ['{name}']\n"
    assert _fault(text).startswith(f"healthd.yaml:3:19: found allow_restart: {words}")


def test_a_pattern_names_what_it_fits() -> None:
    """The owner can then write those names down."""
    units = ("worker@1.service", "worker@2.service", "nginx.service")
    (fault,) = _faults("repair: {allow_restart: ['worker@*']}", units=units)
    assert fault.hint == "today it fits worker@1.service, worker@2.service"
    (fault,) = _faults("repair: {allow_restart: ['x*']}", units=units)
    assert fault.hint == "today it fits no unit"


def test_every_fault_at_once() -> None:
    """One run of the editor mends them all; they come in the order of the file."""
    text = (
        "enabled: maybe\n"
        "watc: {}\n"
        "defaults: {every: 5, timeout: 1m30}\n"
        "repair: {allow_restart: ['*'], max_attempts: 11}\n"
        "checks:\n"
        "  a: {}\n"
    )
    places = [(fault.line, fault.column) for fault in _faults(text)]
    assert places == [(1, 10), (2, 1), (3, 19), (3, 31), (4, 26), (4, 46), (6, 3)]


def test_a_secret_is_not_shown() -> None:
    """Faults go to the journal; what stands in a header may be a password."""
    text = (
        f"{LISTENS}checks:\n  a.service:\n"
        '    http: {endpoint: web, headers: {Authorization: "hunter2\\n"}}\n'
    )
    fault = _fault(text)
    assert "hunter2" not in fault
    assert "a value that is not shown" in fault


def test_a_fault_is_one_harmless_line() -> None:
    """What was found is written to terminals and logs as it is."""
    fault = _fault('repair: {allow_restart: ["\\x1b[31m\\n' + "x" * 500 + '"]}\n')
    assert fault.isprintable()
    assert len(fault) < 300


def test_the_environment_is_judged_too() -> None:
    """HEALTHD_ENABLED=off is somebody's wish and must not be passed over."""
    (fault,) = read((), (), {"HEALTHD_ENABLED": "perhaps"}).faults
    assert str(fault) == "environment HEALTHD_ENABLED: found perhaps; allowed: 0 or 1"


def test_faulty_settings_are_refused_as_a_whole(tmp_path: Path) -> None:
    """Half a configuration is not what anybody wrote."""
    (tmp_path / "etc/healthd").mkdir(parents=True)
    os.chmod(tmp_path, 0o755)
    (tmp_path / "etc/healthd/healthd.yaml").write_text("network: true\nenabled: 7\nx: 1\n")
    with pytest.raises(Faults) as refusal:
        load({}, tmp_path)
    assert refusal.value.code == "invalid-settings"
    assert len(refusal.value.faults) == 2
    assert refusal.value.message.startswith("the settings have 2 faults: ")
    assert refusal.value.hint == "healthctl verify shows them all"
