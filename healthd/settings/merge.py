"""Two trees → one, the later over the earlier: words are replaced, lists add, keys merge. Pure.

An empty list takes back what earlier files said, as an empty assignment does for systemd. What was
replaced stays with what replaced it, so that its faults are still found.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from functools import reduce

from healthd.settings.document import Entry, Mapping, Node, Scalar, Sequence
from healthd.settings.faults import Mark
from healthd.settings.shapes import Either, Items, Keys, Shape, Table, Trait


def merge_files(trees: List[Mapping], shape: Keys) -> Mapping:
    """What all files say together, in the order in which they apply; empty when there are none."""
    return reduce(lambda a, b: _merge_keys(a, b, shape), trees) if trees else Mapping(Mark(""))


def merge(earlier: Node, later: Node, shape: Shape | None) -> Node:
    """What both say together; *shape* is None where no key of that name exists."""
    if isinstance(shape, Either):
        shape = next((s for s in shape.shapes if isinstance(s, Keys)), None)
    if isinstance(later, Scalar) and later.is_nothing and not isinstance(earlier, Scalar):
        return earlier
    if isinstance(shape, Items) and Trait.NAMED in shape.traits:
        return _merge_named(_as_list(earlier), _as_list(later), shape)
    if isinstance(earlier, Mapping) and isinstance(later, Mapping):
        return _merge_keys(earlier, later, shape)
    whole = isinstance(shape, Items) and Trait.WHOLE in shape.traits
    if isinstance(earlier, Sequence) and isinstance(later, Sequence) and later.items and not whole:
        return Sequence(later.mark, earlier.items + later.items, earlier.replaced + later.replaced)
    return _replace(earlier, later)


def _merge_keys(earlier: Mapping, later: Mapping, shape: Shape | None) -> Mapping:
    newer = {entry.key: entry for entry in later.entries}
    merged = [
        Entry(old.key, new.mark, merge(old.value, new.value, _below(shape, old.key)))
        if (new := newer.pop(old.key, None))
        else old
        for old in earlier.entries
    ]
    return Mapping(later.mark, (*merged, *newer.values()), earlier.replaced + later.replaced)


def _merge_named(earlier: Sequence, later: Sequence, shape: Items) -> Node:
    """Mappings of one name are merged; the others stand side by side, the earlier file's first."""
    if not later.items:
        return _replace(earlier, later)
    items = list(earlier.items)
    places = {_name(item): place for place, item in reversed(list(enumerate(items)))}
    for item in later.items:
        place = places.pop(_name(item), None)
        if place is None:
            items.append(item)
        else:
            items[place] = _merge_one(items[place], item, shape.item)
    return Sequence(later.mark, tuple(items), earlier.replaced + later.replaced)


def _merge_one(earlier: Node, later: Node, shape: Shape) -> Node:
    """One of another kind takes the whole place: an http check does not become half a tcp one."""
    if isinstance(earlier, Mapping) and isinstance(later, Mapping):
        kinds = _kinds(earlier), _kinds(later)
        if all(kinds) and kinds[0] != kinds[1]:
            return _replace(earlier, later)
    return merge(earlier, later, shape)


def _kinds(check: Mapping) -> frozenset[str]:
    """The keys that hold keys of their own: in a check, those of its kind."""
    return frozenset(e.key for e in check.entries if isinstance(e.value, Mapping))


def _below(shape: Shape | None, key: str) -> Shape | None:
    match shape:
        case Keys():
            return shape.fields[key].shape if key in shape.fields else None
        case Table():
            return shape.value
    return None


def _as_list(node: Node) -> Sequence:
    if isinstance(node, Sequence):
        return node
    if isinstance(node, Scalar) and node.is_nothing:
        return Sequence(node.mark, (), node.replaced)
    return Sequence(node.mark, (node,))


def _name(item: Node) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return name.text if isinstance(name, Scalar) else ""


def _replace(earlier: Node, later: Node) -> Node:
    replaced = (*later.replaced, earlier)
    match later:
        case Scalar():
            return Scalar(later.mark, later.text, later.plain, replaced)
        case Sequence():
            return Sequence(later.mark, later.items, replaced)
        case Mapping():
            return Mapping(later.mark, later.entries, replaced)
