"""Values of the bus without their variants."""

from __future__ import annotations

from typing import Any

import pytest

from healthd.ctl.variants import opened, split


@pytest.mark.parametrize(
    ("signature", "types"),
    [
        ("", []),
        ("s", ["s"]),
        ("ssa{sv}u", ["s", "s", "a{sv}", "u"]),
        ("a(tsssa{sv})aast", ["a(tsssa{sv})", "aas", "t"]),
    ],
)
def test_a_signature_is_split_into_complete_types(signature: str, types: list[str]) -> None:
    """Where a type ends decides what every later value means."""
    assert split(signature) == types


@pytest.mark.parametrize(
    ("signature", "value", "plain"),
    [
        ("v", ("s", "x"), "x"),
        ("(sv)", ("s", ("u", 3)), ("s", 3)),
        # A struct of two strings looks like a variant; only the signature tells.
        ("a(ss)", [("s", "x")], [("s", "x")]),
        ("a{sv}", {"tried": ("a(tsa{sv})", [(1, "r", {"detail": ("s", "d")})])},
         {"tried": [(1, "r", {"detail": "d"})]}),
        ("v", ("v", ("as", ["a"])), ["a"]),
        ("a{sv}", {"raw": ("ay", b"caf\xe9\0")}, {"raw": "caf\\xe9"}),
        ("av", [("s", "a"), ("b", True)], ["a", True]),
    ],
)  # fmt: skip
def test_variants_are_opened_at_any_depth(signature: str, value: Any, plain: Any) -> None:
    """What leaves the door must be plain, or every page would have to know of variants."""
    assert opened(signature, value) == plain
