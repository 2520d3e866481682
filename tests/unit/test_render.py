"""What healthctl prints, page by page, at the widths people have; and that no row can harm them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from healthd.ctl import changes, rows
from healthd.ctl.detail import check_block, incident_block
from healthd.ctl.evidence import evidence_fields, evidence_sections, named
from healthd.ctl.layout import Cell, Column, Screen, fields, table
from healthd.ctl.overview import overview, worrying
from healthd.ctl.render import by_weight, checks_page, incidents_page, page, waiters
from healthd.ctl.text import cells
from healthd.ctl.why import why_blocks
from tests.unit import ctl_samples as samples
from tests.unit.ctl_samples import NOW, assert_reviewed

NARROW = Screen(width=80, now=NOW)
WIDE = Screen(width=160, now=NOW)
PIPE = Screen(width=None, now=NOW)
SCREENS = [pytest.param(NARROW, "80", id="80"), pytest.param(WIDE, "160", id="160")]

#: What a unit's description, a server's answer or another program may hold.
HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07 gone",
    "\x9b31m one byte is enough",
    "first\r\nsecond\ttab\x00nul\x7f",
    "\u202egnp.exe\u2066 turned around",
    "e" + "\u0301" * 5000 + " stacked",
    "データベースが応答しません " * 20,
    "👩‍👩‍👧 🩺 flags 🇨🇭",
    "x" * 10_240,
    "\ud800 half a pair",
]
#: Anything that a terminal could act on, but for the line breaks and colours that are ours.
HARMFUL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    samples.use_utc(monkeypatch)


@pytest.mark.parametrize(("screen", "name"), SCREENS)
def test_status_says_how_healthd_is_set_up_and_what_is_wrong(screen: Screen, name: str) -> None:
    """It is the first page an administrator sees, and must be right at a glance."""
    manager = samples.manager(samples.broken_checks(), samples.open_incidents())
    assert_reviewed(f"status-{name}", overview("web1", manager, screen))


def test_status_of_a_well_machine_is_short() -> None:
    """Nothing wrong means nothing to read."""
    checks = [samples.check("liveness:nginx.service"), samples.settings_check()]
    assert overview("web1", samples.manager(checks, []), NARROW) == (
        "● web1 - green\n"
        "     Watches: 1 unit through systemd\n"
        "  May repair: nothing until you list it in /etc/healthd/healthd.yaml\n"
        "   Tells you: by journal\n"
        "      Checks: 2 green\n"
    )


def test_status_shows_each_fault_of_the_settings_in_its_first_lines() -> None:
    """Who mistyped a setting believes to be protected by it."""
    faults = ["/etc/healthd/healthd.yaml:3:5: found the key “chekcs”; allowed: checks, units"]
    row = samples.settings_check("yellow", "configuration", summary="1 fault", faults=faults)
    text = overview("web1", samples.manager([row], []), NARROW)
    assert "    Settings: /etc/healthd/healthd.yaml:3:5: found the key" in text
    # The summary names the first fault only: it would say one twice.
    assert "1 fault" not in text
    assert "host:healthd/settings" not in text


def test_status_says_that_it_does_not_act_and_why() -> None:
    """A watch that is switched off must not look like one that found nothing."""
    manager = samples.manager(
        [samples.settings_check()], [], watching=False, watching_reason="HEALTHD_WATCH_ENABLED=0"
    )
    assert "not acting now (HEALTHD_WATCH_ENABLED=0)" in overview("web1", manager, PIPE)


def test_status_admits_what_the_daemon_does_not_say() -> None:
    """An older or younger daemon without the settings check must not read as “nothing”."""
    text = overview("web1", samples.manager([], []), NARROW)
    assert text.count("unknown: healthd does not say") == 2


def test_a_remedy_is_shown_while_it_would_help() -> None:
    """A unit that was just restarted must not be restarted by whoever reads the page."""
    remedy = {"incident": 1, "remedy": "systemctl restart a.service"}
    red = samples.check("liveness:a.service", "red", "failed", **remedy)
    settling = samples.check("liveness:a.service", "yellow", "churned", **remedy)
    assert "remedy: " in overview("web1", samples.manager([red], []), NARROW)
    assert "remedy: " not in overview("web1", samples.manager([settling], []), NARROW)


def test_what_could_not_be_looked_at_is_never_left_out() -> None:
    """Grey because nobody could look is not health."""
    shown = [row["key"] for row in worrying(samples.broken_checks())]
    assert "readiness:redis-server.service" in shown
    assert "liveness:cups.service" not in shown


@pytest.mark.parametrize(("screen", "name"), SCREENS)
def test_checks_are_listed_worst_first(screen: Screen, name: str) -> None:
    """Three hundred lines scroll by; what matters stands on top."""
    assert_reviewed(f"checks-{name}", checks_page(by_weight(samples.broken_checks()), screen))


@pytest.mark.parametrize(("screen", "name"), SCREENS)
def test_incidents_say_where_they_stand(screen: Screen, name: str) -> None:
    """Phase, rest and ending are told in one column."""
    closed = samples.incident(41, "liveness:nginx.service", "closed", summary="exit code 3")
    assert_reviewed(
        f"incidents-{name}", incidents_page([*samples.open_incidents(), closed], screen)
    )


@pytest.mark.parametrize(("screen", "name"), SCREENS)
def test_an_incident_is_told_with_its_evidence(screen: Screen, name: str) -> None:
    """What was tried and who was told, then what was seen, a section each."""
    evidence = samples.evidence()
    shown = incident_block(samples.open_incidents()[0], evidence_fields(evidence, ""), screen)
    assert_reviewed(f"incident-{name}", page(shown, *evidence_sections(evidence, screen)))


def test_evidence_in_json_has_names_for_what_the_bus_has_in_rows() -> None:
    """A script asks for `.changes[].at`, not for the first of two."""
    told = named(samples.evidence())
    assert told is not None
    assert told["changes"][0] == {
        "at": NOW - 900 * samples.SECOND,
        "what": "apt: apt upgrade, by ada (1000)",
    }
    assert list(told["providers"][0]) == ["unit", "state", "reason", "summary"]
    assert named(None) is None


@pytest.mark.parametrize(("screen", "name"), SCREENS)
def test_why_tells_the_rule_the_looks_and_who_was_told(screen: Screen, name: str) -> None:
    """Everything that stands behind one colour, on one page."""
    row = samples.check(
        "liveness:postgresql@17-main.service", "red", "failed", summary="killed by SIGKILL"
    )
    answer = rows.why(row["key"], samples.why())
    assert_reviewed(f"why-{name}", page(*why_blocks(row, answer, screen)))


def test_evidence_that_is_refused_takes_one_line_that_says_how() -> None:
    """Most people who look at an incident may not read logs; they still get the rest."""
    row = samples.incident(41, "liveness:nginx.service", "closed", found=True)
    lines = incident_block(row, evidence_fields(None, "not permitted; ask root"), NARROW)
    assert "    Evidence: not permitted; ask root" in lines
    assert "  Recurrence: failing already when healthd first saw this machine" in lines
    assert "      Lasted: 3 min" in lines


def test_all_that_wait_are_named_where_one_asks_for_it() -> None:
    """The overview folds thirty names; whoever looks at their provider gets each of them."""
    database = next(row for row in samples.broken_checks() if row["key"] == samples.DATABASE)
    names = [f"liveness:app{number:02}.service" for number in range(30)]
    waiting = [
        samples.check(name, "grey", "waiting", summary="waits", waiting_on=samples.DATABASE)
        for name in names
    ]
    checks = [database, *waiting]
    assert waiters(samples.DATABASE, checks) == names
    shown = page(check_block(database, NARROW, names))
    assert all(name in shown for name in names)
    status = overview("host", samples.manager(checks, []), NARROW)
    assert "30 checks wait on it:" in status
    assert "and 18 more" in " ".join(status.split())


def test_a_check_shows_only_what_applies_to_it() -> None:
    """Empty fields would bury the few that matter."""
    check = next(row for row in samples.broken_checks() if row["key"].endswith("/admin"))
    assert check_block(check, NARROW) == [
        "× readiness:nginx.service/admin - red unready",
        "   Summary: no answer within 5 s",
        "     Class: timeout",
        "      Unit: nginx.service",
        "      Kind: http (readiness)",
        "     Since: Mon 2026-11-30 23:31:26 UTC; 4 min ago",
        "   Failing: 3 looks in a row",
        "  Incident: 43",
    ]


def test_states_are_told_without_colours_and_without_unicode() -> None:
    """Not everybody sees colours, and a serial console has no ●."""
    ascii_screen = Screen(width=80, unicode=False, now=NOW)
    lines = checks_page(by_weight(samples.broken_checks()), ascii_screen).splitlines()
    marks = [line[0] for line in lines[1:10]]
    assert marks == ["x", "x", "!", "*", "*", "*", "o", "o", "o"]


def test_colours_do_not_move_a_column() -> None:
    """Escape sequences have no width."""
    checks = by_weight(samples.broken_checks())
    plain = checks_page(checks, NARROW)
    coloured = checks_page(checks, NARROW._replace(colour=True))
    assert coloured != plain
    assert SGR.sub("", coloured) == plain


def test_a_table_without_legend_has_rows_only() -> None:
    """Scripts count lines."""
    lines = checks_page(samples.broken_checks(), PIPE._replace(legend=False)).splitlines()
    assert len(lines) == len(samples.broken_checks())


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("screen", [NARROW, WIDE, PIPE], ids=["80", "160", "pipe"])
def test_hostile_words_are_harmless_everywhere(words: str, screen: Screen) -> None:
    """Rows hold what services, servers and other programs wrote."""
    row = samples.check(f"reported:1000/{words}", words, words, summary=words, remedy=words)
    incident = samples.incident(
        *(1, words, "repairing"),
        summary=words,
        idle=words,
        tried=[(NOW, words, words, words, {"detail": words})],
        told=[(NOW, words, words, {})],
    )
    setup = samples.settings_check(faults=[words], may_restart=[words], channels=[words])
    manager = samples.manager([], [incident], watching=False, watching_reason=words)
    manager = manager._replace(checks=[row, setup], counts={words: 1}, state=words)
    evidence = {
        "facts": {words: words},
        "log": [words],
        "changes": [(0, words), (2**64, words), ()],
        "providers": [(words, words, words, words), ()],
        words: words,
    }
    for text in (
        overview(words[:64].replace("\ud800", ""), manager, screen),
        checks_page([row], screen),
        incidents_page([incident], screen),
        page(check_block(row, screen)),
        page(incident_block(incident, evidence_fields(evidence, words), screen)),
        page(*evidence_sections(evidence, screen)),
        page(*why_blocks(row, rows.why(words, samples.why(words)), screen)),
        changes.line(changes.changed(words, words, row, 1), NOW, screen) + "\n",
    ):
        assert not HARMFUL.search(text)
        assert text.endswith("\n")


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("screen", [NARROW, WIDE], ids=["80", "160"])
def test_hostile_words_keep_the_tables_aligned(words: str, screen: Screen) -> None:
    """A line that is too long breaks the table for every row below it."""
    hostile = samples.check("liveness:a.service", "red", "failed", summary=words)
    named = samples.check(f"liveness:{words}.service", "red", "failed")
    lines = checks_page([hostile, named, samples.check("liveness:b.service")], screen).splitlines()
    assert screen.width is not None
    assert max(map(cells, lines)) <= screen.width
    states = [(line, re.search(r"(red )?failed|green|STATE", line)) for line in lines[:4]]
    starts = {cells(line[: found.start()]) for line, found in states if found}
    assert len(starts) == 1


def test_a_field_is_wrapped_below_itself() -> None:
    """A fault of the settings is longer than a line, and must stay readable."""
    lines = fields([("Label", [Cell("word " * 30)]), ("Empty", [])], Screen(width=40))
    assert all(cells(line) <= 40 for line in lines)
    assert lines[0].startswith("  Label: word")
    assert lines[1].startswith("         word")


def test_a_table_shrinks_from_its_last_column_on() -> None:
    """Names are kept longer than the summary, and lose their middle, not their end."""
    columns = [Column("NAME", 9, middle=True), Column("STATE"), Column("SUMMARY", 5)]
    body = [[Cell("postgresql@17-main"), Cell("red"), Cell("killed by SIGKILL")]]
    assert table(columns, body, Screen(width=24)) == [
        "NAME        STATE  SUMM…",
        "post…-main  red    kill…",
    ]


def test_a_signal_becomes_one_line() -> None:
    """`healthctl monitor` is read as it scrolls."""
    row: Any = ("liveness:a.service", "a.service", "red", "failed", "exit code 3", NOW, 2, "", {})
    change = changes.record("CheckChanged", ("liveness:a.service", "yellow", "red", 8, row))
    assert changes.line(change, NOW, PIPE) == (
        "2026-11-30 23:35:26  liveness:a.service  yellow → red failed: exit code 3"
    )
    told: Any = ("liveness:a.service", 5, 9, "engaged", "critical", "a.service failed", "…", "", {})
    assert changes.line(changes.record("Notice", told), NOW, PIPE) == (
        "2026-11-30 23:35:26  notice (engaged)  a.service failed"
    )


def test_what_changed_between_two_snapshots_is_told_as_signals_would() -> None:
    """After healthd was away, the last line of a check must be true again."""
    before = {row["key"]: row for row in samples.broken_checks()}
    after = dict(before)
    del after["liveness:cups.service"]
    after["liveness:new.service"] = samples.check("liveness:new.service")
    after[samples.DATABASE] = samples.check(samples.DATABASE)
    records = changes.differences(before, after, 9)
    assert [(record["event"], record["key"]) for record in records] == [
        ("check_removed", "liveness:cups.service"),
        ("check_changed", samples.DATABASE),
        ("check_changed", "liveness:new.service"),
    ]


def test_rows_keep_what_a_later_healthd_adds_and_refuse_wrong_types() -> None:
    """The interface grows by `more`; a reader must neither lose that nor fall over it."""
    more = {"kind": 7, "remedy": "", "restarts": True, "weather": "fine", "key": "forged"}
    check = rows.check(("liveness:a.service", "", "green", "ok", "", 0, 0, "", more))
    assert check["key"] == "liveness:a.service"
    assert (check["kind"], check["remedy"], check["restarts"], check["since"]) == (None,) * 4
    assert dict(check)["weather"] == "fine"
    told = [(1, "engaged", "journal", {}), ("not", "a", "telling", {}), 3]
    found = rows.incident((1, "k", "engaged", "", 0, 0, "", 0, 1, {"told": told, "tried": "x"}))
    assert found["told"] == [{"at": 1, "edition": "engaged", "channel": "journal"}]
    assert found["tried"] == []


def test_what_is_ignored_is_counted_and_named() -> None:
    """A unit that nobody judges must not look like one that is well."""
    units = [f"getty@tty{number}.service" for number in range(20)]
    setup = samples.settings_check(ignored=["cups*.service"], ignored_units=units)
    page = overview("box", samples.manager([setup], []), WIDE)
    assert "20 units: getty@tty0.service, " in page
    assert " and 8 more" in page
    assert "by your watch.ignore: cups*.service" in page
