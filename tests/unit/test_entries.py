"""What the journal says: one entry a transition, public words only, explained by the catalog."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from healthd.channels import own_entries as said
from healthd.channels.base import Entry
from healthd.channels.entries import Kind, entries, notice_entry
from healthd.model import (
    Aspect,
    Attempt,
    AttemptId,
    AttemptResult,
    Change,
    Check,
    CheckKey,
    Closing,
    Edition,
    Gap,
    Hold,
    HoldId,
    Idle,
    Incident,
    IncidentId,
    IncidentStep,
    LookAt,
    Notice,
    Phase,
    Publish,
    Reason,
    Removed,
    Repair,
    State,
    Story,
    Tell,
    Telling,
    UnitName,
    Urgency,
    Verdict,
    Watch,
)

ROOT = Path(__file__).parents[2]
CATALOG = ROOT / "units" / "healthd.catalog"
NGINX = UnitName("nginx.service")
KEY = CheckKey("liveness:nginx.service")
CHECK = Check(KEY, Aspect.LIVENESS, "unit", NGINX)
SUSPECT = Verdict(State.YELLOW, Reason.SUSPECT, "killed by SIGKILL", 1, 1)
RED = Verdict(State.RED, Reason.FAILED, "killed by SIGKILL", 2, 2)
INCIDENT = Incident(
    id=IncidentId(42),
    key=KEY,
    unit=NGINX,
    phase=Phase.REPAIRING,
    reason=Reason.FAILED,
    summary="killed by SIGKILL",
    opened_at=2,
    opened_us=2,
    remedy="systemctl restart nginx.service",
)
ATTEMPT = Attempt(AttemptId(7), 3, 3, "restart-unit", "healthd", NGINX)
STORY = Story("nginx.service", watches=(Watch(CHECK, RED),), incidents=(INCIDENT,))
HOLD = Hold(HoldId(7), (NGINX,), "pg_upgrade", pid=812, uid=0, at=1, at_us=1, until_us=2)
NOTICE = Notice(
    id="incident-42",
    incident=IncidentId(42),
    key=KEY,
    unit=NGINX,
    edition=Edition.ENGAGED,
    urgency=Urgency.CRITICAL,
    title="nginx.service failed: killed by SIGKILL",
    body="nginx.service failed: killed by SIGKILL, since 14:03 UTC.\nTo fix it: systemctl restart "
    "nginx.service",
    remedy="systemctl restart nginx.service",
    at=4,
)


def with_incident(**fields: Any) -> Story:
    """The story with its incident changed."""
    return replace(STORY, incidents=(replace(INCIDENT, **fields),))


def changed(**fields: Any) -> IncidentStep:
    """A step of that incident."""
    return IncidentStep(Change.CHANGED, replace(INCIDENT, **fields))


def only(found: tuple[Entry, ...]) -> dict[str, str]:
    """The one entry, as a mapping."""
    assert len(found) == 1
    return dict(found[0])


def samples() -> dict[Kind, Entry]:
    """One entry of every kind."""
    reopened = changed(reopened=1)
    settling = changed(phase=Phase.SETTLING)
    pending, done = (ATTEMPT,), (replace(ATTEMPT, result=AttemptResult.DONE),)
    made = [
        entries(STORY, STORY, (Publish(Watch(CHECK, RED), SUSPECT, IncidentId(42)),)),
        entries(STORY, STORY, (Removed(KEY),)),
        entries(STORY, STORY, (IncidentStep(Change.OPENED, INCIDENT),)),
        entries(STORY, STORY, (IncidentStep(Change.OPENED, replace(INCIDENT, found=True)),)),
        entries(STORY, with_incident(reopened=1), (reopened,)),
        entries(STORY, with_incident(phase=Phase.SETTLING), (settling,)),
        entries(
            STORY,
            STORY,
            (IncidentStep(Change.CLOSED, replace(INCIDENT, closing=Closing.SELF_HEALED)),),
        ),
        entries(STORY, with_incident(attempts=pending), (Repair(ATTEMPT, KEY),)),
        entries(
            with_incident(attempts=pending),
            with_incident(attempts=done),
            (changed(attempts=done),),
        ),
        tuple(notice_entry(replace(NOTICE, edition=edition)) for edition in Edition),
        (
            said.started("0.1.0", watched=103, may_restart=2),
            said.stopped("asked to"),
            said.settings_read("2 units may be restarted"),
            said.settings_refused("healthd.yaml:3: …", at_start=True),
            said.store_set_aside("shorter than it says; kept as data.mdb.corrupt-1"),
            said.not_watched(Gap(1, 2, "the machine slept"), "8 h"),
            said.hold_began(HOLD),
            said.hold_ended(HOLD, "its holder ended it"),
        ),
    ]
    return {Kind(dict(entry)["MESSAGE_ID"]): entry for several in made for entry in several}


def test_every_kind_of_entry_has_a_sample() -> None:
    """The tests below would not see a kind that has none."""
    assert samples().keys() == set(Kind)


def test_a_change_is_one_entry_with_every_field() -> None:
    """Programs read the fields, people the message, and both the same fact."""
    entry = only(entries(STORY, STORY, (Publish(Watch(CHECK, RED), SUSPECT, IncidentId(42)),)))
    assert entry == {
        "MESSAGE_ID": Kind.CHECK_CHANGED,
        "PRIORITY": "4",
        "MESSAGE": "liveness:nginx.service is red (failed): killed by SIGKILL; "
        "was yellow (suspect)",
        "HEALTHD_STATE": "red",
        "HEALTHD_OLD_STATE": "yellow",
        "HEALTHD_REASON": "failed",
        "HEALTHD_SUMMARY": "killed by SIGKILL",
        "HEALTHD_KEY": "liveness:nginx.service",
        "HEALTHD_UNIT": "nginx.service",
        "UNIT": "nginx.service",
        "HEALTHD_INCIDENT": "42",
    }


def test_a_new_check_that_is_well_is_no_entry() -> None:
    """A hundred healthy services at a first start are not news; a sick one among them is."""
    green = Watch(CHECK, Verdict(State.GREEN, Reason.OK, "active", 1))
    assert entries(STORY, STORY, (Publish(green, None),)) == ()
    assert only(entries(STORY, STORY, (Publish(Watch(CHECK, RED), None),)))["PRIORITY"] == "4"
    assert only(entries(STORY, STORY, (Publish(green, RED),)))["PRIORITY"] == "6"


def test_an_attempt_is_found_under_each_of_its_incidents_and_told_once() -> None:
    """Two checks of one unit share a repair; `journalctl HEALTHD_INCIDENT=43` must show it too."""
    second = replace(INCIDENT, id=IncidentId(43), key=CheckKey("readiness:nginx.service"))
    pending = tuple(replace(i, attempts=(ATTEMPT,)) for i in (INCIDENT, second))
    failed = replace(ATTEMPT, result=AttemptResult.FAILED, detail="polkit says no")
    ended = tuple(replace(i, attempts=(failed,)) for i in (INCIDENT, second))
    before = replace(STORY, incidents=(INCIDENT, second))
    between = replace(STORY, incidents=pending)
    after = replace(STORY, incidents=ended)
    steps = tuple(IncidentStep(Change.CHANGED, i) for i in pending)

    made = entries(before, between, (*steps, Repair(ATTEMPT, KEY)))
    assert [v for k, v in made[0] if k == "HEALTHD_INCIDENT"] == ["42", "43"]
    assert only(made)["MESSAGE_ID"] == Kind.ATTEMPT_MADE

    over = entries(between, after, tuple(IncidentStep(Change.CHANGED, i) for i in ended))
    assert [v for k, v in over[0] if k == "HEALTHD_INCIDENT"] == ["42", "43"]
    assert only(over)["MESSAGE"] == ("attempt 1 of nginx.service: the call failed (polkit says no)")


def test_a_notice_comes_from_the_outbox_alone() -> None:
    """Written here as well, it would stand twice in the journal."""
    told = (Telling(4, 4, Edition.ENGAGED),)
    engaged = changed(phase=Phase.ENGAGED, why_engaged="2 restarts did not help", tellings=told)
    after = replace(STORY, incidents=(engaged.incident,))
    assert entries(STORY, after, (engaged, Tell(NOTICE), LookAt(KEY, 9))) == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"phase": Phase.SETTLING}, "settles"),
        ({"idle": Idle.STOPPED}, "stopped on purpose"),
        ({"idle": Idle.WAITING, "held_under": IncidentId(41)}, "rests under incident 41"),
        ({"phase": Phase.ENGAGED, "why_engaged": "no way"}, "is the owner's turn: no way"),
    ],
)
def test_an_incident_that_moves_on_says_how(fields: dict[str, Any], words: str) -> None:
    """Otherwise a reader sees an incident that nobody repairs and no reason why."""
    entry = only(entries(STORY, with_incident(**fields), (changed(**fields),)))
    assert words in entry["MESSAGE"]
    assert entry["HEALTHD_INCIDENT"] == "42"


def test_two_steps_of_one_event_are_each_told_once() -> None:
    """ "reopened" twice in one second reads like two failures."""
    first = changed(reopened=1)
    second = changed(reopened=1, phase=Phase.SETTLING)
    after = replace(STORY, incidents=(second.incident,))
    said = [dict(entry) for entry in entries(STORY, after, (first, first, second, second))]
    assert [entry["MESSAGE_ID"] for entry in said] == [
        Kind.INCIDENT_REOPENED,
        Kind.INCIDENT_CHANGED,
    ]


def test_a_notice_names_its_remedy_in_one_line() -> None:
    """`journalctl | grep` must find the command with the fact."""
    entry = dict(notice_entry(NOTICE))
    assert entry["MESSAGE"] == (
        "nginx.service failed: killed by SIGKILL, since 14:03 UTC. "
        "To fix it: systemctl restart nginx.service"
    )
    assert entry["HEALTHD_REMEDY"] == "systemctl restart nginx.service"
    assert dict(notice_entry(replace(NOTICE, remedy="")))["HEALTHD_REMEDY"] == "healthctl show 42"


def test_a_reason_is_said_once() -> None:
    """ "red (failed): failed: …" is how programs talk."""
    failed = Watch(CHECK, replace(RED, summary="killed by SIGKILL"))
    entry = only(entries(STORY, STORY, (Publish(failed, SUSPECT),)))
    assert entry["MESSAGE"] == (
        "liveness:nginx.service is red (failed): killed by SIGKILL; was yellow (suspect)"
    )


def test_every_message_is_one_line() -> None:
    """A second line has no time and no sender in most readers."""
    summary = "first\nsecond"
    odd = Watch(CHECK, replace(RED, summary=summary))
    entry = only(entries(STORY, STORY, (Publish(odd, SUSPECT),)))
    assert "\n" not in entry["MESSAGE"]


# ---- the catalog


def explained() -> dict[str, str]:
    """The catalog's text by MESSAGE_ID."""
    parts = re.split(r"^-- ([0-9a-f]{32})\n", CATALOG.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_kind_is_explained_by_the_catalog() -> None:
    """`journalctl -x` would say nothing beneath the entry."""
    assert explained().keys() == set(Kind)
    for text in explained().values():
        assert re.match(r"Subject: .+\nDefined-By: healthd\nDocumentation: .+\n\n\S", text)


def test_the_catalog_uses_only_fields_that_the_entry_has() -> None:
    """A missing field shows as a hole in the sentence."""
    for kind, entry in samples().items():
        used = set(re.findall(r"@([A-Z_]+)@", explained()[kind]))
        assert used <= {name for name, value in entry if value}, kind


def test_journalctl_compiles_the_catalog(tmp_path: Path) -> None:
    """A catalog that does not compile takes no other package's with it, but ours is lost."""
    journalctl = shutil.which("journalctl")
    assert journalctl is not None, "install systemd: its journalctl compiles the catalog"
    folder = tmp_path / "usr" / "lib" / "systemd" / "catalog"
    folder.mkdir(parents=True)
    shutil.copy(CATALOG, folder)
    (tmp_path / "var" / "lib" / "systemd" / "catalog").mkdir(parents=True)
    run = [journalctl, f"--root={tmp_path}", "--no-pager"]
    made = subprocess.run([*run, "--update-catalog"], capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stderr) == (0, "")
    listed = subprocess.run([*run, "--list-catalog"], capture_output=True, text=True, timeout=60)
    assert {line.split(" ")[0] for line in listed.stdout.splitlines()} == set(Kind)


# ---- the way there
