"""The manual page says what the types say."""

from __future__ import annotations

import re
from pathlib import Path

from healthd.settings.files import Source
from healthd.settings.load import read
from healthd.settings.noise import NOISE
from healthd.settings.schema import Root
from healthd.settings.shapes import Either, Field, Items, Keys, Shape, Table, Word, keys_of

PAGE = (Path(__file__).parents[2] / "man/healthd.yaml.5").read_text()


def _fields(shape: Shape) -> dict[str, Field]:
    """Every key below *shape*, by its name alone."""
    match shape:
        case Keys():
            below = [_fields(field.shape) for field in shape.fields.values()]
            return shape.fields | {k: f for fields in below for k, f in fields.items()}
        case Items():
            return _fields(shape.item)
        case Table():
            return _fields(shape.value)
        case Either():
            return {k: f for s in shape.shapes for k, f in _fields(s).items()}
        case Word():
            return {}


def _bold_words() -> set[str]:
    bold = " ".join(line for line in PAGE.splitlines() if re.match(r"\.(B|BR|BI|RB|SS) ", line))
    return set(re.findall(r"[a-z_0-9]+", bold))


def test_every_key_is_explained() -> None:
    """A key that only the source knows is no setting."""
    assert _fields(keys_of(Root)).keys() - _bold_words() == set()


def test_shipped_noise_is_listed() -> None:
    """What is never judged must be there to read."""
    listed = re.findall(r"^\.IR (\S+) [,.]$", PAGE, re.MULTILINE)
    assert [entry for entry in listed if entry in NOISE] == list(NOISE)


def test_the_example_holds() -> None:
    """People begin by copying it."""
    example = PAGE.partition(".EX\n")[2].partition(".EE\n")[0].replace(r"\e", "\\")
    reading = read((Source("example", example),), (), {})
    assert (reading.faults, reading.notes) == ((), ())
    assert [d.check.key for d in reading.settings.checks()] == [
        "readiness:nginx.service",
        "readiness:redis-server.service",
    ]
