"""Take the variants out of what the D-Bus library decoded, guided by the signature. Pure.

A variant is decoded as `(signature, value)`; only the signature tells it from a struct of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Opener = Callable[[Any], Any]

#: Opened signatures; None: such a value holds no variant and stays as it is.
_openers: dict[str, Opener | None] = {}


def opened(signature: str, value: Any) -> Any:
    """*value*, of one complete type, without variants; structs are tuples, `ay` is text."""
    opener = _opener(signature)
    return opener(value) if opener else value


def split(signature: str) -> list[str]:
    """The complete types that *signature* holds, one after the other."""
    types: list[str] = []
    start = depth = 0
    for index, code in enumerate(signature):
        depth += (code in "({") - (code in ")}")
        if depth == 0 and code != "a":
            types.append(signature[start : index + 1])
            start = index + 1
    return types


def _opener(signature: str) -> Opener | None:
    if signature not in _openers:
        _openers[signature] = _make(signature)
    return _openers[signature]


def _make(signature: str) -> Opener | None:
    if signature == "v":
        return _open_variant
    if signature == "ay":
        return _open_bytes
    if "v" not in signature and "ay" not in signature:
        return None
    if signature.startswith("a{"):
        return _dict_opener(*map(_opener, split(signature[2:-1])))
    if signature.startswith("a"):
        item = _opener(signature[1:])
        return (lambda values: [item(value) for value in values]) if item else None
    return _struct_opener([_opener(member) for member in split(signature[1:-1])])


def _open_variant(value: tuple[str, Any]) -> Any:
    signature, inner = value
    opener = _opener(signature)
    return opener(inner) if opener else inner


def _open_bytes(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="backslashreplace")


def _dict_opener(_key: Opener | None, value: Opener | None) -> Opener:
    def opener(entries: dict[Any, Any]) -> dict[Any, Any]:
        return {key: value(inner) if value else inner for key, inner in entries.items()}

    return opener


def _struct_opener(members: list[Opener | None]) -> Opener:
    def opener(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            member(value) if member else value
            for member, value in zip(members, values, strict=True)
        )

    return opener
