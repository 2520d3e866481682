"""One YAML text becomes a tree that knows where everything stands."""

from __future__ import annotations

import pytest

from healthd.settings.document import DEEPEST, Mapping, Scalar, mark_at, node_at, parse
from healthd.settings.faults import Fault, Mark

TEXT = """\
enabled: true

checks:
  nginx.service:
    - exec: {command: [/bin/true, "no"]}
  one.service: {every: 30s}
"""


def _tree(text: str) -> Mapping:
    tree, faults = parse(text, "a.yaml")
    assert faults == ()
    assert tree is not None
    return tree


def _only_fault(text: str) -> Fault:
    _, faults = parse(text, "a.yaml")
    assert len(faults) == 1
    return faults[0]


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("enabled",), 1, 10),
        (("checks", "nginx.service", 0, "exec", "command", 0), 5, 24),
        (("checks", "nginx.service", 0, "exec", "command", 1), 5, 35),
        # Not there: the nearest thing above.
        (("checks", "nginx.service", 0, "every"), 5, 7),
        (("checks", "nginx.service", 7), 5, 5),
        (("nowhere",), 1, 1),
        # A lone value is a list of one.
        (("checks", "one.service", 0, "every"), 6, 24),
    ],
)
def test_every_value_knows_its_place(path: tuple[str | int, ...], line: int, column: int) -> None:
    """An editor jumps there."""
    assert mark_at(_tree(TEXT), path) == Mark("a.yaml", line, column)


def test_texts_stay_texts() -> None:
    """YAML makes a bool of `no`, a number of 08 and a day of 2027-06-01; who asks knows better."""
    tree = _tree("a: no\nb: 08\nc: 2027-06-01\nd: 'x'\n")
    found = [node_at(tree, (key,)) for key in "abcd"]
    assert [n.text for n in found if isinstance(n, Scalar)] == ["no", "08", "2027-06-01", "x"]
    assert [n.plain for n in found if isinstance(n, Scalar)] == [True, True, True, False]


@pytest.mark.parametrize("text", ["", "\n\n", "# only words\n", "---\n", "null\n", "~"])
def test_nothing_is_no_fault(text: str) -> None:
    """An empty file is a good configuration."""
    assert parse(text, "a.yaml") == (None, ())


@pytest.mark.parametrize(
    ("text", "line", "column", "found"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "the key a a second time"),
        ("a: &x 1\nb: *x\n", 2, 4, "an alias (*x)"),
        ("a: !!python/object:os.system x\n", 1, 4, "the tag tag:yaml.org,2002:python/object:os.s"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second document (---)"),
        ("[1, 2]\n", 1, 1, "a list"),
        ("hello\n", 1, 1, "the text hello"),
        ("? [a]\n: 1\n", 1, 3, "a list as a key"),
        ("a: [1\nb: 2\n", 2, 2, "what is no YAML ("),
        ("a:\n\tb: 1\n", 2, 1, "what is no YAML ("),
        ("a: 1\nb: \x07\n", 2, 4, "a control character"),
        ("ä: 1\nöö: \x07\n", 2, 5, "a control character"),
        ("a: " + "[" * DEEPEST, 1, 3 + DEEPEST, "a nesting deeper than any key goes"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, line: int, column: int, found: str) -> None:
    """Found before anybody asks what the keys mean."""
    fault = _only_fault(text)
    assert (fault.line, fault.column) == (line, column)
    assert fault.found.startswith(found)


def test_a_second_key_names_the_line_of_the_first() -> None:
    """They may be hundreds of lines apart."""
    assert _only_fault("a: 1\nb: 2\na: 3\n").hint == "the first stands in line 1"


def test_a_million_brackets_are_one_fault() -> None:
    """Depth must not be able to break the reader."""
    # Whether we or a newer libyaml says so first.
    assert _only_fault("[" * 1_000_000).line == 1
