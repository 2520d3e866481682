"""What is shipped for the bus and for polkit says what the daemon does, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from healthd.bus.api import ERRORS, MANAGER, PATH
from healthd.bus.contract import STANDARD, Emits, interfaces, shipped

ROOT = Path(__file__).parents[2]
(CONTRACT,) = interfaces(shipped("org.healthd1.xml"))
POLICY = ElementTree.parse(ROOT / "polkit" / "org.healthd1.policy").getroot()
BUS_POLICY = ElementTree.parse(ROOT / "dbus" / "org.healthd1.conf").getroot()
RULES = (ROOT / "polkit" / "50-healthd.rules").read_text(encoding="utf-8")

CHECK_ROW = "(ssssstusa{sv})"
INCIDENT_ROW = "(tsssttsuua{sv})"
PASSWORD = {"allow_any": "auth_admin", "allow_inactive": "auth_admin"}


def _node() -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    parser.feed(shipped("org.healthd1.xml"))
    root = parser.close()
    assert isinstance(root, ElementTree.Element)
    return root


def _members() -> list[tuple[str, ElementTree.Element, str]]:
    """Every documented element with the comment that stands right before it."""
    found = []
    for parent in (_node(), *_node().iter("interface")):
        comment = ""
        for child in parent:
            kind: object = child.tag
            if kind is ElementTree.Comment:
                comment = child.text or ""
            elif kind in ("interface", "method", "signal", "property"):
                found.append((child.get("name", ""), child, comment))
                comment = ""
    return found


@pytest.mark.parametrize(
    ("name", "signature", "emits"),
    [
        ("Version", "s", Emits.NEVER_CHANGES),
        ("State", "s", Emits.VALUE),
        ("Counts", "a{su}", Emits.VALUE),
        ("Snapshot", f"a{CHECK_ROW}", Emits.NAME_ONLY),
        ("Alerts", "a(sssta{sv})", Emits.NAME_ONLY),
        ("Incidents", f"a{INCIDENT_ROW}", Emits.NAME_ONLY),
        ("Watching", "b", Emits.VALUE),
        ("WatchingReason", "s", Emits.VALUE),
        ("Sequence", "t", Emits.NOTHING),
        ("Holds", "a(tassuta{sv})", Emits.NAME_ONLY),
    ],
)
def test_a_property_has_its_type_and_says_how_it_changes(
    name: str, signature: str, emits: Emits
) -> None:
    """Readers cache by these words; a change of either breaks them."""
    found = CONTRACT.properties[name]
    assert (found.signature, found.emits) == (signature, emits)


@pytest.mark.parametrize(
    ("name", "takes", "gives"),
    [
        ("GetSnapshot", "", f"ta{CHECK_ROW}"),
        ("ChangesSince", "t", f"tba{CHECK_ROW}"),
        ("ListChecks", "a{sv}", f"a{CHECK_ROW}"),
        ("ListIncidents", "a{sv}u", f"a{INCIDENT_ROW}"),
        ("Look", "as", f"a{CHECK_ROW}"),
        ("RestartUnit", "s", "t"),
        ("Hold", "asst", "h"),
        ("GetEvidence", "t", "a{sv}"),
        ("Reload", "", "as"),
    ],
)
def test_a_method_has_its_signatures(name: str, takes: str, gives: str) -> None:
    """Clients are compiled against these; what breaks one becomes org.healthd2."""
    found = CONTRACT.methods[name]
    assert (found.takes, found.gives) == (takes, gives)


def test_signals_have_their_signatures() -> None:
    """A match on arg0 finds a key: it comes first in every one of them."""
    incident = f"stt{INCIDENT_ROW}"
    assert CONTRACT.signals == {
        "CheckChanged": f"ssst{CHECK_ROW}",
        "CheckRemoved": "st",
        "IncidentOpened": incident,
        "IncidentChanged": incident,
        "IncidentClosed": incident,
        "Notice": "sttsssssa{sv}",
    }


def test_the_contract_is_of_one_object() -> None:
    """The name, the path and the interface are what every client types."""
    assert (_node().get("name"), CONTRACT.name) == (PATH, MANAGER)


def test_every_member_and_argument_is_documented() -> None:
    """gdbus-codegen makes the documentation of these comments; a bare member would be a riddle."""
    for name, element, comment in _members():
        first, _, rest = comment.strip().partition("\n")
        assert first == f"{name}:", f"{name} has no comment of its own"
        described = set(re.findall(r"^\s*@(\w+):", rest, re.MULTILINE)) - {"short_description"}
        assert described == {arg.get("name") for arg in element.iterfind("arg")}, name
        assert rest.strip(), name


def test_the_wire_carries_no_comments() -> None:
    """Whoever introspects pays for every byte; the documentation is in the file."""
    assert "<!--" not in CONTRACT.xml
    assert [i.name for i in interfaces(f"<node>{CONTRACT.xml}</node>")] == [MANAGER]


def test_the_standard_interfaces_are_those_of_the_specification() -> None:
    """`busctl`, proxies and browsers take them for granted."""
    assert [interface.name.rpartition(".")[2] for interface in STANDARD] == [
        "Properties",
        "Introspectable",
        "Peer",
    ]


def test_only_healthd_and_root_own_the_name() -> None:
    """Whoever owned it could tell every user what to believe and what to type as root."""
    owners = {
        policy.get("user"): [allow.get("own") for allow in policy if allow.get("own")]
        for policy in BUS_POLICY.iter("policy")
    }
    assert owners == {"root": ["org.healthd1"], "healthd": ["org.healthd1"], None: []}


def test_everybody_may_call() -> None:
    """polkit decides, method by method; the bus does not."""
    (everybody,) = (p for p in BUS_POLICY.iter("policy") if p.get("context") == "default")
    assert [dict(allow.attrib) for allow in everybody] == [
        {"send_destination": "org.healthd1"},
        {"receive_sender": "org.healthd1"},
    ]


@pytest.mark.parametrize(
    ("action", "in_session"),
    [
        ("look", "auth_admin_keep"),
        ("restart-unit", "auth_admin_keep"),
        ("hold", "auth_admin_keep"),
        ("read-evidence", "auth_admin_keep"),
        ("reload", "auth_admin"),
    ],
)
def test_an_action_needs_an_administrator_s_password(action: str, in_session: str) -> None:
    """A default that says yes would be found by the first script that tries."""
    (found,) = (a for a in POLICY.iter("action") if a.get("id") == f"org.healthd1.{action}")
    defaults = {d.tag: d.text for d in found.iterfind("defaults/*")}
    assert defaults == PASSWORD | {"allow_active": in_session}


def test_every_action_lets_the_daemon_ask() -> None:
    """Without the annotation polkit refuses a daemon that is not root: every call would fail."""
    for action in POLICY.iter("action"):
        owners = [
            a.text
            for a in action.iter("annotate")
            if a.get("key") == "org.freedesktop.policykit.owner"
        ]
        assert owners == ["unix-user:healthd"], action.get("id")
        assert (action.findtext("message") or "").startswith("Authentication is required to ")


def test_the_rules_speak_of_actions_that_exist() -> None:
    """A rule for a misspelt action is silent, and nobody notices."""
    actions = {action.get("id") for action in POLICY.iter("action")}
    assert set(re.findall(r'"(org\.healthd1\.[^"]+)"', RULES)) == {
        "org.healthd1.read-evidence",
        "org.healthd1.reload",
    }
    assert set(re.findall(r'"(org\.healthd1\.[^"]+)"', RULES)) <= actions


def test_our_errors_have_our_names() -> None:
    """Programs tell errors apart by name; one that comes twice would hide another."""
    assert len(set(ERRORS.values())) == len(ERRORS)
    ours = {name for name in ERRORS.values() if name.startswith("org.healthd1.")}
    assert ours == {
        f"org.healthd1.Error.{name}"
        for name in (
            "NoSuchCheck",
            "NoSuchIncident",
            "NoSuchUnit",
            "NotAllowlisted",
            "NeverRestart",
            "RateLimited",
            "InvalidSettings",
            "SwitchedOff",
            "NotAuthorized",
        )
    }
