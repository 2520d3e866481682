"""From the types of schema.py to what the readers walk along: keys, lists and words.

The types stay the only source: nothing here names a key.
"""

from __future__ import annotations

import functools
import types
import typing
from enum import StrEnum

import msgspec
from msgspec import Struct

from healthd.settings.forms import Form, OneOf, Switch, Text


class Trait(StrEnum):
    """What an annotation may add to a type.

    LATER: accepted, but the part that acts on it is not built yet. WHOLE: a list that is one value
    (a command): a later file's replaces it. LONE: one value may stand for a list of one. NAMED:
    a list of mappings, each known by its key `name`; a later file's is merged into it.
    """

    LATER = "later"
    WHOLE = "whole"
    LONE = "lone"
    NAMED = "named"


class Word(Struct, frozen=True):
    """One value."""

    form: Form


class Items(Struct, frozen=True):
    """A list, read as a tuple."""

    item: Shape
    traits: frozenset[Trait] = frozenset()


class Table(Struct, frozen=True):
    """Keys that the owner chooses, all with the same kind of value; read as a dict."""

    key: Form
    value: Shape


class Field(Struct, frozen=True):
    """One key of a struct."""

    shape: Shape
    required: bool
    built: bool


class Keys(Struct, frozen=True):
    """The keys of a struct, read as that struct."""

    struct: type[Struct]
    fields: dict[str, Field]


class Either(Struct, frozen=True):
    """One of several shapes; the written form decides, among words the first that fits."""

    shapes: tuple[Shape, ...]


Shape = Word | Items | Table | Keys | Either


def shape_of(hint: object) -> Shape:
    """The shape of a type of schema.py. Raises TypeError for a type that has none."""
    form, traits, bare = _annotation(hint)
    if form is not None:
        return Word(form)
    origin, args = typing.get_origin(bare), typing.get_args(bare)
    if origin in (typing.Union, types.UnionType):
        shapes = tuple(shape_of(arg) for arg in args if arg is not types.NoneType)
        return shapes[0] if len(shapes) == 1 else Either(shapes)
    if origin is tuple:
        return Items(shape_of(args[0]), traits)
    if origin is dict:
        key = shape_of(args[0])
        if isinstance(key, Word):
            return Table(key.form, shape_of(args[1]))
    if isinstance(bare, type):
        return _shape_of_class(bare)
    raise TypeError(f"settings have no shape for {hint}")


def allowed_words(shape: Shape) -> str:
    """What may be written where *shape* is expected."""
    match shape:
        case Word():
            return shape.form.allowed
        case Items():
            lone = ", or one of them alone" if Trait.LONE in shape.traits else ""
            return f"a list, each of them {allowed_words(shape.item)}{lone}"
        case Table():
            return f"keys with values, each key {shape.key.allowed}"
        case Keys():
            return "the keys " + ", ".join(shape.fields)
        case Either():
            return ", or ".join(allowed_words(s) for s in shape.shapes)


def _annotation(hint: object) -> tuple[Form | None, frozenset[Trait], object]:
    """The form and the traits that Annotated adds, and the type it adds them to."""
    if typing.get_origin(hint) is not typing.Annotated:
        return None, frozenset(), hint
    bare, *extras = typing.get_args(hint)
    traits = frozenset(extra for extra in extras if isinstance(extra, Trait))
    forms: list[Form] = [extra for extra in extras if not isinstance(extra, Trait)]
    return (forms[0] if forms else None), traits, bare


def _shape_of_class(cls: type) -> Shape:
    if cls is bool:
        return Word(Switch())
    if cls is str:
        return Word(Text())
    if issubclass(cls, StrEnum):
        return Word(OneOf(cls))
    if issubclass(cls, Struct):
        return keys_of(cls)
    raise TypeError(f"settings have no shape for {cls.__name__}")


@functools.cache
def keys_of(struct: type[Struct]) -> Keys:
    """The keys of *struct*, in the order of its fields."""
    hints = typing.get_type_hints(struct, include_extras=True)
    required = {f.name for f in msgspec.structs.fields(struct) if f.required}
    return Keys(
        struct,
        {
            name: Field(shape_of(hint), name in required, Trait.LATER not in _annotation(hint)[1])
            for name, hint in hints.items()
        },
    )
