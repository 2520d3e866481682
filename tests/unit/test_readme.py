"""What README.md tells people to write and to type works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from healthd.bus.contract import interfaces, shipped
from healthd.ctl.arguments import parse
from healthd.settings.files import Source
from healthd.settings.load import read

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SETTINGS = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
(CONTRACT,) = interfaces(shipped("org.healthd1.xml"))
#: How README.md shows a command: at a prompt, or in running text.
COMMANDS = sorted(
    {
        *re.findall(r"^[#$] healthctl\b([^|&\n]*)", README, re.MULTILINE),
        *re.findall(r"`healthctl\b([^`]*)`", README),
    }
)


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_taken_as_they_stand(text: str) -> None:
    """People begin by copying them; nothing in them may be wrong, or not built yet."""
    reading = read((Source("README.md", text),), (), {})
    assert (reading.faults, reading.notes) == ((), ())


def test_settings_are_shown_at_all() -> None:
    """A block under another name would be held by no test."""
    assert len(SETTINGS) >= 2
    assert "```yml" not in README


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_are_understood(words: str) -> None:
    """A command that healthctl refuses is the worst first impression."""
    parse(words.split())


def test_commands_are_shown_at_all() -> None:
    """The table of commands and the examples are both found."""
    assert {parse(words.split()).verb for words in COMMANDS} >= {"status", "incidents", "show"}


def test_bus_members_are_in_the_contract() -> None:
    """A program that is written after the README must meet what it names."""
    named = set(re.findall(r"org\.healthd1\.Manager (\w+)", README))
    members = {*CONTRACT.methods, *CONTRACT.properties, *CONTRACT.signals}
    assert named
    assert named <= members
