"""Whatever stands in a settings file: never a traceback, always faults with their place."""

from __future__ import annotations

import contextlib
from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthd.settings.decode import nearest
from healthd.settings.faults import LONGEST_PART, Fault
from healthd.settings.files import Source, read_named
from healthd.settings.forms import Unfit
from healthd.settings.load import Reading, read
from healthd.settings.schema import Root
from healthd.settings.shapes import Either, Items, Keys, Shape, Table, Word, keys_of
from healthd.settings.timespan import LONGEST_US, BadSpan, timespan_text, timespan_us

EXAMPLE = Path(__file__).with_name("test_settings_example.yaml").read_text()
SPANS = ("30s", "5", "5min", "1h 30min", "-1s", "9999999999999999y", "1.5h", "٣s", "1e9s")
WORDS: st.SearchStrategy[object] = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        (
            *(*SPANS, "true", "no", "null", "85%", "4 per 1h", "256M", "nginx.service"),
            *("a@.service", "*.service", "getty@tty1.service", "127.0.0.1:80", "[::1]:80"),
            *("[::1", "/bin/sh", "(", "a" * 5000, "\x00"),
        )
    ),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.none(),
    st.dates(),
)


def _all_keys(shape: Shape) -> set[str]:
    match shape:
        case Keys():
            below = (_all_keys(field.shape) for field in shape.fields.values())
            return set(shape.fields).union(*below)
        case Items():
            return _all_keys(shape.item)
        case Table():
            return _all_keys(shape.value)
        case Either():
            return set().union(*(_all_keys(s) for s in shape.shapes))
        case Word():
            return set()


KEYS = st.one_of(st.sampled_from(sorted(_all_keys(keys_of(Root)))), st.just("nginx.service"), WORDS)
VALUES = st.recursive(
    WORDS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)


def _values(shape: Shape) -> st.SearchStrategy[object]:
    """What nearly fits *shape*: the right keys at the right depth, with words that may be wrong."""
    match shape:
        case Keys():
            below = {key: _values(field.shape) for key, field in shape.fields.items()}
            return st.fixed_dictionaries({}, optional=below)
        case Items():
            return st.one_of(st.lists(_values(shape.item), max_size=3), VALUES)
        case Table():
            names = st.sampled_from(("nginx.service", "web", "gmail", "x"))
            return st.dictionaries(names, _values(shape.value), max_size=3)
        case Either():
            return st.one_of(*(_values(s) for s in shape.shapes))
        case Word():
            return WORDS


def _judge(*texts: str) -> Reading:
    sources = tuple(Source(f"{n}.yaml", text) for n, text in enumerate(texts))
    reading = read(sources, (), {})
    for fault in reading.faults:
        _is_located(fault, texts)
    return reading


def _is_located(fault: Fault, texts: tuple[str, ...]) -> None:
    text = texts[int(fault.file.removesuffix(".yaml"))]
    assert 1 <= fault.line <= len(text.splitlines()) + 1
    assert fault.column >= 1
    assert str(fault).startswith(f"{fault.file}:{fault.line}:{fault.column}: found ")
    assert str(fault).isprintable()
    assert len(str(fault)) < 30 * LONGEST_PART


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    """Somebody's editor crashed, or the file is another program's."""
    _judge(text)


@given(st.text(alphabet="[]{}:,-?&*!|>'\"%@`#~ \n\tab0<=.", max_size=120))
def test_any_punctuation_is_judged(text: str) -> None:
    """YAML gives a meaning to nearly every sign; each must end in a fault rather than a crash."""
    _judge(text)


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_any_yaml_is_judged(values: list[object]) -> None:
    """Files that are YAML but not settings, one over the other."""
    _judge(*(yaml.safe_dump(value, allow_unicode=True) for value in values))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(_values(keys_of(Root)), min_size=1, max_size=2))
def test_keys_in_their_places_are_judged(values: list[object]) -> None:
    """Right keys with wrong values reach every rule behind the types."""
    _judge(*(yaml.safe_dump(value, allow_unicode=True) for value in values))


@given(st.data())
def test_a_damaged_example_is_judged(data: st.DataObject) -> None:
    """One slip in a large file is what really happens."""
    start = data.draw(st.integers(0, len(EXAMPLE)))
    end = data.draw(st.integers(start, min(len(EXAMPLE), start + 40)))
    _judge(EXAMPLE[:start] + data.draw(st.text(max_size=10)) + EXAMPLE[end:])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read(tmp_path: Path, data: bytes) -> None:
    """A file need not even be text."""
    path = tmp_path / "some.yaml"
    path.write_bytes(data)
    sources, faults = read_named((path,))
    assert all(fault.line >= 1 for fault in faults)
    assert len(sources) + len(faults) <= 1
    read(sources, faults, {})


@given(st.text(max_size=30))
def test_any_word_meets_every_form(text: str) -> None:
    """A form says what does not fit; it never breaks on it."""
    for word in _forms(keys_of(Root)):
        assert word.form.allowed
        with contextlib.suppress(Unfit):
            word.form.read(text)


def _forms(shape: Shape) -> list[Word]:
    match shape:
        case Word():
            return [shape]
        case Items():
            return _forms(shape.item)
        case Table():
            return [Word(shape.key), *_forms(shape.value)]
        case Keys():
            return [word for field in shape.fields.values() for word in _forms(field.shape)]
        case Either():
            return [word for below in shape.shapes for word in _forms(below)]


@given(st.integers(0, LONGEST_US))
def test_a_span_is_written_as_it_is_read(span_us: int) -> None:
    """Faults and notices quote spans; a quoted one must mean the same."""
    assert timespan_us(timespan_text(span_us)) == span_us


@given(st.text(max_size=40))
def test_any_text_is_a_span_or_says_why_not(text: str) -> None:
    """No number, script or length may break the reader."""
    with contextlib.suppress(BadSpan):
        assert 0 <= timespan_us(text) <= LONGEST_US


@given(st.text(max_size=200))
def test_any_key_may_be_misspelt(text: str) -> None:
    """The nearest word is looked for whatever stands there."""
    assert isinstance(nearest(text, keys_of(Root).fields), str)
