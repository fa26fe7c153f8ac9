"""What a user can get wrong, through the command line: one line that says what to do, exit code 2, nothing lost."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import TINY

COMMAND = [sys.executable, "-c", "from personae.cli import main; main()"]


def fails(*arguments: object) -> str:
    """Run the command; check that it fails as a user's error does; return its one line."""
    command = [*COMMAND, *map(str, arguments)]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert lines[-1].startswith("personae: error: ")
    assert len([line for line in lines if line.startswith("personae: error: ")]) == 1
    return lines[-1].removeprefix("personae: error: ")


@pytest.fixture
def files(tmp_path):
    """Data files with something wrong, by name."""
    contents = {
        "empty.txt": b"",
        "binary.txt": bytes(range(256)),
        "convai2.txt": b"1 your persona: i am a baker .\n2 hi .\thello .\n",
        "persona.txt": b"\n \n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reader", "said"),
    [
        ("missing.txt", None, "no such file"),
        ("empty.txt", None, "is empty"),
        ("binary.txt", None, "binary"),
        ("convai2.txt", "jsonl", "it looks like 'convai2'"),
    ],
)
def test_data_that_cannot_be_read(files, tiny_run, name, reader, said):
    chosen = ["--reader", reader] if reader else []
    out = files / "out"
    assert said in fails("evaluate", tiny_run, "--data", files / name, *chosen, "--out", out)
    assert not (out / "scores.json").exists()


def test_a_persona_of_no_sentence(files, tiny_run):
    assert "persona" in fails("reply", tiny_run, "--persona", files / "persona.txt", "--say", "hi")


def test_a_reply_longer_than_the_window(files):
    (files / "long.txt").write_text("1 your persona: i bake .\n2 hi .\t" + "word " * 900 + "\n")
    options = [option for option in TINY if not option.startswith("data.")]
    line = fails(
        *("train", "interview/paa", *options, "data.generate=null", "--out", files / "run"),
        *(f"data.train=[{files / 'long.txt'}]", f"data.valid=[{files / 'long.txt'}]"),
    )
    assert "text.budgets.reply" in line
    assert not (files / "run" / "recipe.yaml").exists()


def test_a_checkpoint_of_another_model(tmp_path, tiny_run):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    config = run / "model" / "config.json"
    config.write_text(config.read_text().replace('"n_layer": 2', '"n_layer": 3'))
    assert "another model" in fails("reply", run, "--say-as", "i bake .", "--say", "hi")


def test_a_half_written_checkpoint(tmp_path, tiny_run):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    weights = run / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert "half-written" in fails("reply", run, "--say-as", "i bake .", "--say", "hi")


def test_an_unknown_recipe_key(tmp_path):
    assert "Did you mean 'train.lr'?" in fails("train", "interview/paa", "train.lrr=1", "--out", tmp_path / "run")


def test_an_unknown_recipe():
    assert "Did you mean 'interview/paa'?" in fails("train", "interview/pa")


def test_a_folder_that_is_no_run(tmp_path):
    assert "is no run" in fails("reply", tmp_path, "--say-as", "i bake .", "--say", "hi")


def test_a_full_disk_keeps_what_was_written(tmp_path):
    """On a real file system of 3 MB, where this machine lets a test mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: a full disk cannot be made")
    try:
        (disk / "kept.txt").write_text("written before")
        wide = "model.options.decoder={n_embd: 128, n_layer: 4, n_head: 2, n_positions: 512}"
        line = fails("train", "interview/paa", *TINY, wide, "model.options.share_words=false", "--out", disk / "run")
        assert "o space left" in line or "cannot save" in line
        assert (disk / "kept.txt").read_text() == "written before"
    finally:
        subprocess.run(["umount", str(disk)], check=True)
