"""A tree of texts → the structs of schema.py, with every fault told at its place. Pure.

Whatever cannot be read is left out and the reading goes on, so that one run finds everything.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TypeVar

from healthd.settings.document import Mapping, Node, Scalar, Sequence, kind_of
from healthd.settings.faults import Findings, Mark, shown
from healthd.settings.forms import Form, Matching, Text, Unfit
from healthd.settings.shapes import Either, Items, Keys, Shape, Table, Trait, Word, allowed_words


class Unread(Enum):
    """What stands for a value that could not be read."""

    UNREAD = 0


UNREAD = Unread.UNREAD
Value = TypeVar("Value")


def decode(shape: Shape, node: Node, name: str, findings: Findings) -> object:
    """The value of *node*, or UNREAD; *name* is the key it stands under, for the faults' words."""
    for old in node.replaced:
        decode(shape, old, name, findings)
    match shape, node:
        case Either(), _:
            return _decode_either(shape, node, name, findings)
        case Word(), Scalar():
            return _decode_word(shape.form, node, name, findings)
        case ((Items() | Table() | Keys()), Scalar()) if node.is_nothing:
            # All that stood under the key is commented out.
            if isinstance(shape, Keys) and any(f.required for f in shape.fields.values()):
                findings.fault(node.mark, f"{name} with nothing behind it", allowed_words(shape))
            return UNREAD
        case Items(), Sequence():
            return _decode_items(shape, node.items, name, findings)
        case Items(), _ if Trait.LONE in shape.traits:
            return _decode_items(shape, (node,), name, findings)
        case Table(), Mapping():
            return _decode_table(shape, node, name, findings)
        case Keys(), Mapping():
            return _decode_keys(shape, node, name, findings)
    findings.fault(node.mark, f"{name}: {kind_of(node)}", allowed_words(shape))
    return UNREAD


def readable(items: tuple[Value, ...]) -> Iterator[tuple[int, Value]]:
    """The items that could be read, each with its place in the list as it was written."""
    return ((place, item) for place, item in enumerate(items) if not isinstance(item, Unread))


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint that names the word that was probably meant, or ""."""
    close = difflib.get_close_matches(word[:64].lower(), list(words), 1)
    return f"did you mean {close[0]}?" if close else ""


def _decode_word(form: Form, node: Scalar, name: str, findings: Findings) -> object:
    if node.is_nothing:
        findings.fault(node.mark, f"{name} with nothing behind it", form.allowed)
        return UNREAD
    try:
        return form.read(node.text)
    except Unfit as unfit:
        secret = isinstance(form, Text | Matching) and form.private
        found = "a value that is not shown" if secret else shown(node.text) or "an empty text"
        findings.fault(node.mark, f"{name}: {found}", form.allowed, str(unfit))
        return UNREAD


def _decode_either(shape: Either, node: Node, name: str, findings: Findings) -> object:
    """The shape that the written form chooses; for a word, the first that takes it."""
    if isinstance(node, Scalar):
        words = [s for s in shape.shapes if isinstance(s, Word)]
        for word in words[:-1]:
            trial = Findings()
            value = decode(word, node, name, trial)
            if not trial.faults:
                return value
        fits: list[Shape] = list(words[-1:])
    else:
        kinds = (Keys, Table) if isinstance(node, Mapping) else (Items,)
        fits = [s for s in shape.shapes if isinstance(s, kinds)]
    if fits:
        return decode(fits[0], node, name, findings)
    findings.fault(node.mark, f"{name}: {kind_of(node)}", allowed_words(shape))
    return UNREAD


def _decode_items(
    shape: Items, items: tuple[Node, ...], name: str, findings: Findings
) -> tuple[object, ...]:
    """One value an item. One that cannot be read keeps its place, so that marks stay right."""
    return tuple(decode(shape.item, item, name, findings) for item in items)


def _decode_table(shape: Table, node: Mapping, name: str, findings: Findings) -> object:
    table: dict[object, object] = {}
    for entry in node.entries:
        key = _decode_key(shape.key, entry.key, entry.mark, name, findings)
        value = decode(shape.value, entry.value, shown(entry.key), findings)
        if key is not UNREAD and value is not UNREAD:
            table[key] = value
    return table


def _decode_key(form: Form, key: str, mark: Mark, name: str, findings: Findings) -> object:
    try:
        return form.read(key)
    except Unfit as unfit:
        found = f"the key {shown(key) or '(empty)'} under {name}"
        findings.fault(mark, found, form.allowed, str(unfit))
        return UNREAD


def _decode_keys(shape: Keys, node: Mapping, name: str, findings: Findings) -> object:
    values: dict[str, object] = {}
    for entry in node.entries:
        field = shape.fields.get(entry.key)
        if field is None:
            found = f"the unknown key {shown(entry.key) or '(empty)'}"
            findings.fault(
                entry.mark, found, ", ".join(shape.fields), nearest(entry.key, shape.fields)
            )
            continue
        if not field.built:
            findings.note(entry.mark, f"{entry.key}: not built yet")
        value = decode(field.shape, entry.value, entry.key, findings)
        if value is not UNREAD:
            values[entry.key] = value
    missing = [k for k, field in shape.fields.items() if field.required and k not in values]
    for key in missing:
        if node.get(key) is None:
            findings.fault(node.mark, f"{name} without {key}", f"{name} with {key}")
    return UNREAD if missing else shape.struct(**values)
