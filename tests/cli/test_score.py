"""`personae score`: files of any system, through the command line."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from personae.cli import app
from personae.metrics import Metric, Reply
from personae.metrics.floors import CONVAI2_CONSTANT

REPLIES = ("i like dogs .", "no", "", "yes , i sing in a choir .")
GOLDS = ("i like cats .", "no\tno , never", "hello there", "yes , i sing every day .")
LINES = [
    {
        "conversation": f"c{number // 2}",
        "sources": {"persona": ["i sing .", "i bake ."], "context": ["hi !", "what do you do ?"]},
        "references": gold.split("\t"),
        "prediction": reply,
        "nats": 2.0 + number,
        "tokens": 4,
    }
    for number, (reply, gold) in enumerate(zip(REPLIES, GOLDS, strict=True))
]

LIKELIHOODS = {"nats_per_token", "nats_per_word", "nats_per_byte", "perplexity_token", "perplexity_word"}


def run(*arguments: object):
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


def scored(*arguments: object) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def fails(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("personae: error: ")


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def texts(tmp_path) -> tuple[Path, Path]:
    """A text file of replies, and one of references."""
    said, golds = ("\n".join(lines) + "\n" for lines in (REPLIES, GOLDS))
    return write(tmp_path / "said.txt", said), write(tmp_path / "golds.txt", golds)


@pytest.fixture
def jsonl(tmp_path) -> Path:
    return write(tmp_path / "predictions.jsonl", "".join(json.dumps(line) + "\n" for line in LINES))


def test_text_files_give_the_scores_of_the_library(texts):
    found = scored(*texts)
    expected = Metric.build("f1").score(REPLIES, [gold.split("\t") for gold in GOLDS])
    assert found["predictions"]["f1"]["value"] == expected.value
    assert found["predictions"]["f1"]["interval"] == list(expected.interval)
    assert found["predictions"].keys() >= {"f1", "bleu", "bleu_p1", "bleu_p2", "dist1", "dist2"}
    assert not found["predictions"].keys() & {"perplexity_token", "persona_accuracy"}
    assert (found["replies"], found["conversations"], found["unit"]) == (4, 4, "line")


def test_an_empty_reply_is_scored_and_said(texts):
    found = scored(*texts)
    assert "|n:4|" in found["predictions"]["f1"]["signature"]
    assert found["notes"] == ["1 of 4 replies are empty: scored as they are"]


def test_signatures_name_the_files_by_their_hashes(texts, jsonl):
    both = "+".join(hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in texts)
    assert f"|data:{both}|drawn:line|v:" in scored(*texts)["predictions"]["f1"]["signature"]
    one = hashlib.sha256(jsonl.read_bytes()).hexdigest()
    found = scored(jsonl)
    assert f"|data:{one[:12]}|drawn:conversation|v:" in found["predictions"]["f1"]["signature"]
    assert found["data"]["predictions"]["sha256"] == one
    assert "|floor:copy_persona|seed:0|" in found["floors"]["copy_persona"]["f1"]["signature"]
    assert "|said:human|" in found["human"]["dist1"]["signature"]


def test_json_lines_bring_likelihoods_floors_and_the_human(jsonl):
    found = scored(jsonl)
    assert found["predictions"].keys() >= {"f1", "dist2", "perplexity_token", "nats_per_byte"}
    assert found["conversations"] == 2
    assert found["floors"].keys() == {"constant:convai2", "copy_last", "copy_persona"}
    for floor in found["floors"].values():
        assert floor.keys() == found["predictions"].keys() - LIKELIHOODS
    assert found["human"].keys() >= {"dist1", "dist2"}
    assert not found["human"].keys() & {"f1", "bleu", *LIKELIHOODS}
    last = Metric.build("f1").measure([Reply("what do you do ?", (*line["references"],)) for line in LINES])
    assert found["floors"]["copy_last"]["f1"]["value"] == last.value


def test_f1_is_never_printed_without_the_constant(texts, jsonl):
    for files in (texts, [jsonl], [*texts, "--metrics", "f1"], [jsonl, "--metrics", "f1"]):
        lines = run(*files).stdout.splitlines()
        head = next(at for at, line in enumerate(lines) if "f1" in line.split())
        rows = {line.split()[0] for line in lines[head + 2 : head + 6] if line.strip()}
        assert rows >= {"predictions", "constant:convai2"}
        assert f"constant:convai2: {CONVAI2_CONSTANT}" in lines


def test_the_table_says_what_it_rests_on(texts, jsonl, tmp_path):
    output = run(*texts).stdout
    assert output.startswith(f"{texts[0]} and {texts[1]}: 4 replies\n")
    assert "by line: no conversation is named" in output
    assert "f1|n:4|conv:4|" in output
    assert re.search(r"human +\d", output), "diversity of the gold replies"
    assert "by conversation: 2 are named" in run(jsonl).stdout
    names = write(tmp_path / "names.txt", "a\na\nb\nb\n")
    assert "by conversation: 2 are named" in run(*texts, "--conversations", names).stdout


def test_conversations_widen_what_lines_pretend(texts, tmp_path):
    names = write(tmp_path / "names.txt", "a\na\nb\nb\n")
    lines, named = scored(*texts), scored(*texts, "--conversations", names)
    assert "|conv:2|" in named["predictions"]["f1"]["signature"]
    assert named["predictions"]["f1"]["value"] == lines["predictions"]["f1"]["value"]
    assert named["predictions"]["f1"]["interval"] != lines["predictions"]["f1"]["interval"]
    assert named["data"]["conversations"]["path"] == str(names)


def test_metrics_are_picked(texts):
    found = scored(*texts, "--metrics", "dist2,f1")
    assert found["predictions"].keys() == {"dist2", "f1"}
    assert found["human"].keys() == {"dist2"}


def test_without_references_variety_is_left(texts):
    found = scored(texts[0])
    assert found["predictions"].keys() >= {"dist1", "dist2"}
    assert not found["predictions"].keys() & {"f1", "bleu"}
    assert found["human"] == {}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_change_nothing(texts, tmp_path, ending, last):
    plain = scored(*texts)["predictions"]
    for path, lines in zip(texts, (REPLIES, GOLDS), strict=True):
        write(path, ending.join(lines) + (ending if last else ""))
    found = scored(*texts)["predictions"]
    assert {name: each["value"] for name, each in found.items()} == {
        name: each["value"] for name, each in plain.items()
    }


def test_only_a_line_feed_ends_a_line(tmp_path):
    odd = "a\x0cb\u2028c\x85d\x0be"
    said, golds = write(tmp_path / "said.txt", f"{odd}\nno\n"), write(tmp_path / "golds.txt", f"{odd}\nno\n")
    write(golds, f"{odd}\nno")
    assert scored(said, golds)["replies"] == 2


def test_a_blank_last_line_is_a_reply(tmp_path):
    said, golds = write(tmp_path / "said.txt", "a\n\n"), write(tmp_path / "golds.txt", "a\nb\n")
    found = scored(said, golds, "--metrics", "f1")
    assert (found["replies"], found["predictions"]["f1"]["value"]) == (2, 0)
    write(said, "dogs\n\n")
    write(golds, "dogs\n")
    assert f"(the last line of {said} is blank)" in fails(said, golds)


def test_silence_is_scored(tmp_path):
    said, golds = write(tmp_path / "said.txt", "\n\n"), write(tmp_path / "golds.txt", "dogs\ncats\n")
    found = scored(said, golds)
    assert found["predictions"]["f1"]["value"] == 0
    assert found["notes"] == ["2 of 2 replies are empty: scored as they are"]


def test_json_lines_without_conversations_are_drawn_line_by_line(tmp_path):
    lines = [{"prediction": reply, "references": [gold]} for reply, gold in zip(REPLIES, GOLDS, strict=True)]
    path = write(tmp_path / "other.out", "".join(json.dumps(line) + "\r\n" for line in lines))
    found = scored(path)
    assert (found["unit"], found["conversations"]) == ("line", 4)
    assert found["floors"].keys() == {"constant:convai2"}, "no sources, so nothing to copy"


def test_a_reply_may_look_like_json(tmp_path):
    said, golds = write(tmp_path / "said.txt", "[laughs]\n{\n"), write(tmp_path / "golds.txt", "[ha]\nhi\n")
    assert scored(said, golds)["replies"] == 2


# Content of the file `said`, what stands beside it, further arguments, and what is said about it.
GOOD = '{"prediction": "a", "references": ["a"]}\n'
WRONG = {
    "counts": ("a\nb\n", "a\nb\nc\n", (), "has 2 lines but {golds} has 3: they must be aligned"),
    "empty": ("", "a\n", (), "{said} is empty"),
    "empty references": ("a\n", "", (), "{golds} is empty"),
    "encoding": (b"fine\ncaf\xe9\n", "a\nb\n", (), "{said} is not UTF-8 text (line 2, byte 4): convert it"),
    "binary": (b"a\0b\n", "a\n", (), "{said} is a binary file"),
    "references of json lines": (GOOD, "a\n", (), "leave out {golds}"),
    "json lines as references": ("a\n", GOOD, (), "{golds} is JSON Lines"),
    "broken line": (GOOD + '{"prediction": \n', None, (), "{said}:2: expected one JSON object"),
    "no prediction": (GOOD + '{"references": ["a"]}\n', None, (), "{said}:2: expected a text in 'prediction'"),
    "json": ('[\n  {"prediction": "a"}\n]\n', "a\n", (), "{said} is JSON but no JSON Lines"),
    "json on one line": ('[{"prediction": "a"}]', None, (), "{said} is JSON but no JSON Lines"),
    "unknown metric": ("a\n", "a\n", ("--metrics", "f2"), "unknown metric 'f2'. Did you mean 'f1'? Choose one of: "),
    "no metric": ("a\n", "a\n", ("--metrics", ","), "--metrics names none"),
    "no references": ("a\n", None, ("--metrics", "f1"), "f1 needs gold replies, but reply 0 has none"),
    "no likelihoods": (GOOD, None, ("--metrics", "perplexity_word"), "reply 0 has no nats and tokens"),
    "no tags": (GOOD, None, ("--metrics", "persona_accuracy"), "the tag kind 'persona', but none has it"),
    "no vectors": ("a\n", "a\n", ("--metrics", "f1", "--vectors", "x.vec"), "--vectors x.vec: no"),
    "no data set": ("a\n", "a\n", ("--published", "convai"), "Did you mean 'convai2'? Choose one of: adand, avsd"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_user_can_get_wrong(tmp_path, case):
    said, golds, options, line = WRONG[case]
    places = {"said": write(tmp_path / "said.out", said), "golds": tmp_path / "golds.out"}
    beside = [] if golds is None else [write(places["golds"], golds)]
    assert line.format(**places) in fails(places["said"], *beside, *options)


def test_a_json_file_by_its_name(tmp_path):
    assert "is JSON but no JSON Lines" in fails(write(tmp_path / "a.json", '{\n "prediction": "a",\n'))


def test_files_that_cannot_be_opened(texts, tmp_path):
    assert "is a directory: give a file" in fails(tmp_path, texts[1])
    assert "no such file" in fails(tmp_path / "sad.txt", texts[1])
    assert "Did you mean 'golds.txt'?" in fails(texts[0], tmp_path / "gold.txt")


def test_one_file_in_two_roles(texts, tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(texts[0])
    assert "is given twice" in fails(texts[0], texts[0])
    assert "is given twice" in fails(texts[0], link)
    assert "is given twice" in fails(*texts, "--conversations", texts[1])


def test_names_of_conversations(texts, tmp_path, jsonl):
    short, blank = write(tmp_path / "short.txt", "a\n"), write(tmp_path / "blank.txt", "a\n\nb\nb\n")
    assert f"but {short} has 1: they must be aligned" in fails(*texts, "--conversations", short)
    assert f"{blank}:2: expected the name of the line's conversation" in fails(*texts, "--conversations", blank)
    assert f"leave out {short}" in fails(jsonl, "--conversations", short)


def test_a_likelihood_that_only_later_lines_lack(jsonl):
    bare = {name: value for name, value in LINES[0].items() if name != "nats"}
    jsonl.write_text(jsonl.read_text() + json.dumps(bare) + "\n")
    assert "reply 4 has no nats and tokens" in fails(jsonl, "--metrics", "perplexity_token")


def test_published_numbers_stand_in_a_block_of_their_own(texts):
    measured, _, block = run(*texts, "--published", "convai2").stdout.partition("PUBLISHED NUMBERS")
    assert "17.36" not in measured
    assert "predictions" not in block
    assert "copied from the papers; none of them was measured here" in block.splitlines()[0]
    assert re.search(r"PAA +14.03 +17.36 +20.5 +4.17", block)
    titles = [line for line in block.splitlines() if line.startswith("published, not measured: ")]
    assert len(titles) > 3
    assert "PUBLISHED" not in run(*texts).stdout
    found = scored(*texts, "--published", "convai2")
    paa = {"paper", "table", "dataset", "row", "metric", "value", "ours", "differs"}
    assert all(record.keys() == paa for record in found["published"])
    assert "published" not in scored(*texts)


def test_no_torch_is_loaded(texts):
    code = (
        "import sys; from personae.cli import app\n"
        f"app(['score', {str(texts[0])!r}, {str(texts[1])!r}], standalone_mode=False)\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.endswith("set()\n")


def test_help_says_how_several_references_are_written():
    output = " ".join(run("--help").output.replace("│", " ").split())
    assert "with TAB between them" in output
    assert "personae score replies.txt gold.txt --metrics f1,dist2" in output
