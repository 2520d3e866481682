"""One YAML text → a tree in which every value knows its file, line and column. The door to yaml.

Built from the parser's events rather than its objects: texts stay texts until somebody knows what
they should be (so `no` can be a word and `08` a name), a key that stands twice is seen, and neither
aliases nor depth can blow up a small file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import yaml
from msgspec import Struct

from healthd.settings.faults import Fault, Findings, Mark, shown

DEEPEST = 16
NULLS = ("", "~", "null", "Null", "NULL")


class Scalar(Struct, frozen=True):
    """A text. *plain*: without quotes. *replaced*: the values of earlier files in its place."""

    mark: Mark
    text: str
    plain: bool = True
    replaced: tuple[Node, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """A key with nothing behind it (often: all that stood there is commented out)."""
        return self.plain and self.text in NULLS


class Sequence(Struct, frozen=True):
    """A list."""

    mark: Mark
    items: tuple[Node, ...] = ()
    replaced: tuple[Node, ...] = ()


class Entry(Struct, frozen=True):
    """One key of a mapping with its value."""

    key: str
    mark: Mark
    value: Node


class Mapping(Struct, frozen=True):
    """Keys with values, in the order of the file, each key once."""

    mark: Mark
    entries: tuple[Entry, ...] = ()
    replaced: tuple[Node, ...] = ()

    def get(self, key: str) -> Node | None:
        """The value under *key*."""
        return next((e.value for e in self.entries if e.key == key), None)


Node = Scalar | Sequence | Mapping


def parse(text: str, file: str) -> tuple[Mapping | None, tuple[Fault, ...]]:
    """The tree of *text* and what is wrong with it; no tree for an empty text or a broken one."""
    findings = Findings()
    try:
        root = _Builder(file, findings).build(text)
    except yaml.YAMLError as err:
        findings.fault(*_yaml_fault(err, text, file))
        return None, findings.faults
    if root is None or (isinstance(root, Scalar) and root.is_nothing):
        return None, findings.faults
    if not isinstance(root, Mapping):
        findings.fault(root.mark, kind_of(root), "keys with values, as in `enabled: true`")
        return None, findings.faults
    return root, findings.faults


def kind_of(node: Node) -> str:
    """What *node* is, in words."""
    match node:
        case Mapping():
            return "keys with values"
        case Sequence():
            return "a list"
        case Scalar():
            return "nothing" if node.is_nothing else f"the text {shown(node.text)}"


def node_at(root: Node, path: tuple[str | int, ...]) -> Node | None:
    """The value under *path*; a lone value counts as a list of one."""
    node: Node | None = root
    for step in path:
        match node:
            case Mapping():
                node = node.get(step) if isinstance(step, str) else node
            case Sequence():
                within = isinstance(step, int) and step < len(node.items)
                node = node.items[step] if isinstance(step, int) and within else None
            case _:
                return None
    return node


def mark_at(root: Node, path: tuple[str | int, ...]) -> Mark:
    """Where the value under *path* stands, or the nearest thing above it that was written down."""
    for length in range(len(path), 0, -1):
        node = node_at(root, path[:length])
        if node is not None:
            return node.mark
    return root.mark


class _Open(Struct):
    """A list or mapping whose end has not come yet."""

    mark: Mark
    is_mapping: bool
    parts: list[Node]


class _Builder:
    """Turns the events of one document into a tree, without recursion."""

    def __init__(self, file: str, findings: Findings) -> None:
        self._file = file
        self._findings = findings
        self._open: list[_Open] = []
        self._root: Node | None = None
        self._documents = 0

    def build(self, text: str) -> Node | None:
        """The root of the first document. Raises yaml.YAMLError."""
        for event in _events(text):
            mark = self._mark(event)
            match event:
                case yaml.DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1:
                        self._findings.fault(mark, "a second document (---)", "one a file")
                        break
                case yaml.AliasEvent():
                    self._findings.fault(
                        mark, f"an alias (*{shown(str(event.anchor))})", "the value itself"
                    )
                    self._put(Scalar(mark, ""))
                case yaml.ScalarEvent():
                    self._refuse_tag(event.tag, mark)
                    self._put(Scalar(mark, event.value, plain=not event.style))
                case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                    self._refuse_tag(event.tag, mark)
                    if len(self._open) == DEEPEST:
                        self._findings.fault(mark, "a nesting deeper than any key goes")
                        return None
                    self._open.append(_Open(mark, isinstance(event, yaml.MappingStartEvent), []))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    self._close()
        return self._root

    def _mark(self, event: yaml.Event) -> Mark:
        start = event.start_mark
        return Mark(self._file, start.line + 1, start.column + 1) if start else Mark(self._file)

    def _refuse_tag(self, tag: str | None, mark: Mark) -> None:
        if tag:
            self._findings.fault(mark, f"the tag {shown(tag)}", "values without a tag")

    def _put(self, node: Node) -> None:
        if self._open:
            self._open[-1].parts.append(node)
        else:
            self._root = node

    def _close(self) -> None:
        done = self._open.pop()
        if done.is_mapping:
            self._put(Mapping(done.mark, tuple(self._entries(done.parts))))
        else:
            self._put(Sequence(done.mark, tuple(done.parts)))

    def _entries(self, parts: list[Node]) -> Iterator[Entry]:
        seen: dict[str, Mark] = {}
        for key, value in list(pairwise(parts))[::2]:
            if not isinstance(key, Scalar):
                self._findings.fault(key.mark, f"{kind_of(key)} as a key", "a word as a key")
            elif key.text in seen:
                self._findings.fault(
                    key.mark,
                    f"the key {shown(key.text)} a second time",
                    "each key once",
                    f"the first stands in line {seen[key.text].line}",
                )
            else:
                seen[key.text] = key.mark
                yield Entry(key.text, key.mark, value)


def _events(text: str) -> Iterator[yaml.Event]:
    # libyaml's parser: ten times as fast as the one in Python, and it does not recurse.
    return iter(yaml.parse(text, Loader=yaml.CSafeLoader))


def _yaml_fault(err: yaml.YAMLError, text: str, file: str) -> tuple[Mark, str, str]:
    """Where and why the parser gave up."""
    if isinstance(err, yaml.MarkedYAMLError):
        at = err.problem_mark or err.context_mark
        problem = err.problem or err.context or "no reason given"
        mark = Mark(file, at.line + 1, at.column + 1) if at else Mark(file)
        return mark, f"what is no YAML ({shown(problem)})", "YAML"
    if isinstance(err, yaml.reader.ReaderError):
        # libyaml gives the byte's place, not the letter's.
        before = text.encode()[: err.position].decode(errors="replace")
        line_start = before.rfind("\n") + 1
        mark = Mark(file, before.count("\n") + 1, len(before) - line_start + 1)
        return mark, "a control character", "printable text"
    return Mark(file), "what is no YAML", "YAML"
