"""Declared http, tcp and exec checks against real servers, and settings that are wrong."""

from __future__ import annotations

from tests.host.machine import SETTINGS, Host
from tests.host.watching import SLEEPER, check, face, incident_in, listing, sleeper, told

SERVER = """
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        bad = os.path.exists("/run/web.bad")
        self.send_response(503 if bad else 200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\\n")
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", 8099), Answer).serve_forever()
"""

TIMES = "every: 11s, timeout: 2s, after: 2, retry: 10s, grace: 0s"


def turned(host: Host, key: str, state: str) -> None:
    """Wait until a check has this state."""
    host.wait_for(lambda: face(host, key)[0] == state, 60)


def test_http_tcp_and_exec_turn_red_and_come_back(host: Host) -> None:
    """Each kind says in its own words what is wrong, and says when it is well."""
    unit = "declared-web.service"
    host.write("/usr/local/lib/web.py", SERVER)
    host.unit(unit, "[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/web.py\n")
    host.run("systemctl", "start", unit)
    host.settings(
        f"""
listens:
  web: {{address: "127.0.0.1:8099"}}
checks:
  {unit}:
    - {{http: {{endpoint: web, path: /healthz, body: ok}}, {TIMES}}}
    - {{name: port, tcp: {{endpoint: web}}, {TIMES}}}
    - {{name: file, exec: {{command: [/usr/bin/test, "!", -e, /run/web.bad]}}, {TIMES}}}
"""
    )
    keys = [f"readiness:{unit}", f"readiness:{unit}/port", f"readiness:{unit}/file"]
    for key in keys:
        turned(host, key, "green")
    host.run("touch", "/run/web.bad")
    turned(host, keys[0], "red")
    turned(host, keys[2], "red")
    row = check(host, keys[0])
    assert row is not None
    assert row["class"] == "status"
    assert "503" in row["summary"]
    assert face(host, keys[1]) == ("green", "ok")
    host.run("rm", "/run/web.bad")
    for key in keys:
        turned(host, key, "green")


def test_nothing_that_an_exec_check_starts_outlives_it(host: Host) -> None:
    """A check that hangs and forks is killed whole, grandchildren in sessions of their own too."""
    unit = sleeper(host, "declared-fork.service")
    host.write(
        "/usr/local/bin/forks",
        "#!/bin/sh\nsetsid sh -c 'exec -a left-over sleep 1000' &\nexec sleep 1000\n",
        mode=0o755,
    )
    host.settings(f"checks: {{{unit}: {{exec: {{command: [/usr/local/bin/forks]}}, {TIMES}}}}}\n")
    host.wait_for(lambda: (check(host, f"readiness:{unit}") or {}).get("class") == "timeout", 40)
    group = "/sys/fs/cgroup/system.slice/healthd.service"
    host.wait_for(lambda: "exec-" not in host.run("ls", group).out, 20)
    assert host.run("pgrep", "-f", "sleep 1000", check=False).out == ""


def test_a_faulty_file_is_refused_as_a_whole_and_the_old_settings_stay(host: Host) -> None:
    """File, line, what was found, what is allowed; nothing half-applied."""
    unit = sleeper(host, "declared-settings.service")
    listing(host, unit)
    host.write(
        SETTINGS,
        "repair:\n  allow_restart: [another.service]\n  max_atempts: 3\n",
        mode=0o640,
        owner="root:healthd",
    )
    reload = host.run("systemctl", "reload", "healthd.service", check=False)
    assert reload.rc != 0
    said = " ".join(e["MESSAGE"] for e in host.journal("_SYSTEMD_UNIT=healthd.service"))
    assert "healthd.yaml:3" in said + " ".join(
        e["MESSAGE"] for e in host.journal("SYSLOG_IDENTIFIER=render-rule")
    )
    host.wait_for(lambda: face(host, "host:healthd/settings") == ("yellow", "configuration"))
    assert "max_atempts" not in host.run("healthctl", "status", check=False, user="nobody").out
    assert "max_atempts" in host.run("healthctl", "verify", check=False).out
    before = host.unit_property(unit, "MainPID")
    host.run("healthctl", "restart", unit)
    assert host.unit_property(unit, "MainPID") != before


def test_a_faulty_file_at_start_means_defaults_and_a_word_about_it(fresh_host: Host) -> None:
    """The daemon runs, restarts nothing, and says so where its owner looks."""
    host = fresh_host
    unit = sleeper(host, "declared-start.service")
    host.write(
        SETTINGS,
        f"repair: {{allow_restart: [{unit}]}}\nchecks: 3\n",
        mode=0o640,
        owner="root:healthd",
    )
    host.run("systemctl", "restart", "healthd.service")
    host.wait_for(lambda: face(host, "host:healthd/settings") == ("yellow", "configuration"))
    status = host.run("healthctl", "status", check=False).out
    assert "healthd.yaml:2" in status
    assert host.run("healthctl", "restart", unit, check=False).rc != 0


def test_a_file_that_others_can_write_is_refused(fresh_host: Host) -> None:
    """Whoever writes the settings chooses what root restarts."""
    host = fresh_host
    host.write(SETTINGS, "repair: {max_attempts: 3}\n", mode=0o666)
    assert host.run("systemctl", "reload", "healthd.service", check=False).rc != 0
    host.run("systemctl", "restart", "healthd.service")
    host.wait_for(lambda: face(host, "host:healthd/settings") == ("yellow", "configuration"))


def test_a_unit_that_does_not_exist_names_itself(host: Host) -> None:
    """Yellow `configuration`, not silence, and not red."""
    host.settings("repair: {allow_restart: [no-such-thing.service]}\n")
    host.wait_for(lambda: face(host, "no-such-thing.service") == ("yellow", "configuration"))


def test_the_journal_tells_an_incidents_story_with_explanations(host: Host) -> None:
    """`journalctl HEALTHD_INCIDENT=… -x` is read by someone at three in the morning."""
    unit = sleeper(host, "declared-story.service")
    listing(host)
    host.run("sh", "-c", f"kill -9 $(systemctl show -P MainPID {unit})")
    incident = incident_in(host, unit, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    host.run("systemctl", "restart", unit)
    incident_in(host, unit, "closed", limit_s=180)
    story = host.run("journalctl", "--no-pager", "-x", f"HEALTHD_INCIDENT={incident['id']}").out
    explained = [line for line in story.splitlines() if line.startswith("░░")]
    assert f"systemctl restart {unit}" in story
    assert len(explained) >= 10
    assert "@HEALTHD" not in story
    beside = host.run("journalctl", "--no-pager", f"UNIT={unit}").out
    assert "Failed with result" in beside
    assert "incident" in beside


def test_an_alias_on_the_list_is_said_to_be_one(host: Host) -> None:
    """polkit knows a unit by its own name; a list that never works must not look well."""
    unit = "declared-real.service"
    host.unit(unit, f"{SLEEPER.format(more='')}Alias=declared-nick.service\n")
    host.run("systemctl", "enable", "--now", "--quiet", unit)
    host.settings("repair: {allow_restart: [declared-nick.service]}\n")
    host.wait_for(lambda: face(host, "host:healthd/settings") == ("yellow", "configuration"))
    row = check(host, "host:healthd/settings")
    assert row is not None
    assert unit in row["summary"]


def test_a_check_under_a_unit_that_is_no_service_is_made(host: Host) -> None:
    """What somebody declared is looked at, or refused; never forgotten."""
    host.unit("declared-some.socket", "[Socket]\nListenStream=127.0.0.1:8098\nAccept=yes\n")
    host.unit("declared-some@.service", "[Service]\nExecStart=/bin/true\n")
    host.run("systemctl", "start", "declared-some.socket")
    listens = "listens: {some: {unit: declared-some.socket}}\n"
    declared = f"{{tcp: {{endpoint: some}}, {TIMES}}}"
    host.settings(f"{listens}checks: {{declared-some.socket: {declared}}}\n")
    turned(host, "readiness:declared-some.socket", "green")
