"""What holds for every reader in the registry.

A reader's sample is the ``SAMPLE`` of its own test, ``tests/data/test_<module>.py``, so that a new reader
needs no change here.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from personae.data import Reader
from personae.data.files import guess_reader
from personae.errors import UserError

OWN = [name for name in Reader.names() if Reader.get(name).__module__.startswith("personae.")]
TESTS = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(params=OWN)
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    yield Reader.build(request.param)


@pytest.fixture
def sample(reader: Reader, tmp_path: Path) -> Path:
    module = type(reader).__module__.rsplit(".", 1)[-1]
    spec = importlib.util.spec_from_file_location(f"sample_of_{module}", TESTS / f"test_{module}.py")
    assert spec and spec.loader
    test = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(test)
    path = tmp_path / f"sample{reader.suffixes[0]}"
    path.write_text(test.SAMPLE, encoding="utf-8", newline="")
    return path


def complaint(reader: Reader, path: Path) -> str:
    with pytest.raises(UserError) as caught:
        list(reader.read(path))
    return str(caught.value)


def test_a_reader_is_registered_and_described(reader: Reader) -> None:
    assert reader.summary().endswith(".")
    assert reader.suffixes


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x00\x01\x02", b"\x89PNG\r\n\xff\xfe", b"\xff\n"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_file_without_text_is_one_line(reader: Reader, tmp_path: Path, content: bytes, on_error: str) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    message = complaint(Reader.build(reader.name, on_error=on_error), path)
    assert str(path) in message
    assert "\n" not in message


def test_a_missing_file_and_a_directory_are_one_line(reader: Reader, tmp_path: Path) -> None:
    assert "\n" not in complaint(reader, tmp_path)
    missing = complaint(reader, tmp_path / "missing.txt")
    assert "no such file" in missing
    assert "\n" not in missing


def test_prose_is_a_malformed_line(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "prose.txt"
    path.write_text("Once upon a time,\nthere was a file.\n", encoding="utf-8")
    message = complaint(reader, path)
    assert f"{path}:1: expected" in message
    assert "\n" not in message


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_damaged_sample_is_read_or_refused_in_one_line(reader: Reader, sample: Path, data: st.DataObject) -> None:
    whole = sample.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    rest = whole[at + data.draw(st.integers(0, 12)) :]
    damaged = sample.with_name("damaged")
    damaged.write_bytes(whole[:at] + data.draw(st.binary(max_size=8)) + rest)
    try:
        list(reader.read(damaged))
    except UserError as error:
        assert "\n" not in str(error)


def test_a_sample_is_recognised_by_its_reader_alone(reader: Reader, sample: Path) -> None:
    assert guess_reader(sample) == reader.name


def test_a_sample_is_refused_by_all_others(reader: Reader, sample: Path) -> None:
    for other in set(OWN) - {reader.name}:
        assert f"it looks like '{reader.name}'" in complaint(Reader.build(other), sample)


def test_a_sample_gives_whole_dialogues(reader: Reader, sample: Path) -> None:
    dialogues = list(reader.read(sample))
    assert dialogues
    for dialogue in dialogues:
        assert dialogue.sources["context"]
        assert len(dialogue.roles["context"]) == len(dialogue.sources["context"])
        assert dialogue.conversation.strip()
        assert dialogue.evidence.keys() <= dialogue.sources.keys()


def test_a_sample_is_read_the_same_twice(reader: Reader, sample: Path) -> None:
    assert list(reader.read(sample)) == list(reader.read(sample))


def test_a_sample_with_a_byte_order_mark_is_read_the_same(reader: Reader, sample: Path) -> None:
    plain = list(reader.read(sample))
    sample.write_bytes(b"\xef\xbb\xbf" + sample.read_bytes())
    assert guess_reader(sample) == reader.name
    assert list(reader.read(sample)) == plain
