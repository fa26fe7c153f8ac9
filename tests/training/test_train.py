"""What a run writes, warns of and refuses."""

import errno
import json
import os
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from personae.data.load import load
from personae.data.subset import Subset
from personae.errors import UserError
from personae.evaluation.familiar import training_data
from personae.models import DialogueModel
from personae.recipe import read_recipe
from personae.runs import Run
from personae.training import train
from personae.training.checkpoints import newest_checkpoint
from personae.training.trainer import ClosedSources
from personae.training.validation import validate
from tests.training.small import POSITIONS, digest, logged, small_recipe

ROOT = Path(__file__).resolve().parents[2]
FEW = ("train.steps=4", "train.evaluate_every=2", "train.save_every=4")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("runs") / "deep" / "run"
    return folder, train(small_recipe(), folder)


def test_a_run_writes_all_that_is_needed(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, report = finished
    assert read_recipe(folder / "recipe.yaml") == small_recipe()
    assert json.loads((folder / "report.json").read_text()) == json.loads(json.dumps(report))
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "checkpoints" / "runs").rglob("events.out.tfevents.*"))
    files = {path.name for path in (folder / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files
    assert not [path for path in folder.rglob("*") if path.name.endswith((".new", ".old"))]
    assert not [path for path in (folder / "model").iterdir() if path.suffix in (".bin", ".pt", ".pth")]


def test_a_report_says_what_was_done(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, report = finished
    run = Run(folder)
    assert report["steps"] == 12
    assert report["parameters"] == run.model().num_parameters()
    assert report["vocabulary"] == len(run.tokenizer()) == 400
    assert report["precision"] == "fp32"
    assert report["data"]["train"]["examples"] == sum(
        turn["role"] == "self"
        for line in (folder / "data" / "train.jsonl").read_text().splitlines()
        for turn in json.loads(line)["turns"]
    )
    assert report["data"]["cuts"]["dialogues"] > report["data"]["train"]["examples"]
    assert [line["step"] for line in report["history"] if "loss" in line] == list(range(1, 13))
    assert [line["step"] for line in report["history"] if "eval_loss" in line] == [4, 8, 12]


def test_it_learns(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    losses = [line["eval_loss"] for line in finished[1]["history"] if "eval_loss" in line]
    assert losses == sorted(losses, reverse=True)


def test_the_best_model_is_the_one_kept(finished: tuple[Path, dict[str, Any]]) -> None:
    """Its loss over the validation set, one example at a time and without buckets, is the best that was logged."""
    folder, report = finished
    run = Run(folder)
    packer, model = run.packer(run.tokenizer()), run.model()
    from personae.text.collate import Collator

    collate = Collator(int(run.tokenizer().pad_token_id))
    dialogues = load([folder / "data" / "valid.jsonl"]).dialogues
    nats, tokens = validate(model, (collate([packer(dialogue)]) for dialogue in dialogues))
    assert nats / tokens == pytest.approx(report["best"]["eval_loss"], rel=1e-5)
    assert report["best"]["eval_loss"] == min(line["eval_loss"] for line in logged(report) if "eval_loss" in line)


def test_open_shares_are_logged_for_every_layer_and_source(finished: tuple[Path, dict[str, Any]]) -> None:
    line = finished[1]["last"]
    shares = {key: value for key, value in line.items() if key.startswith("open/")}
    assert set(shares) == {f"open/{name}/layer{at}" for name in ("persona", "context") for at in (0, 1)}
    assert all(0 <= value <= 1 for value in shares.values())


def test_keep_bounds_the_checkpoints_and_leaves_the_newest(finished: tuple[Path, dict[str, Any]]) -> None:
    folder = finished[0] / "checkpoints"
    assert sorted(path.name for path in folder.glob("checkpoint-*")) == ["checkpoint-12", "checkpoint-9"]
    assert newest_checkpoint(folder).name == "checkpoint-12"


def test_closed_sources_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(ClosedSources, match="less than 1 %"):
        report = train(small_recipe(*FEW, "model.fusion={name: paa, tau: 1.0}"), tmp_path / "run")
    assert {value for key, value in report["last"].items() if key.startswith("open/")} == {0.0}


def test_open_sources_are_not_warned_of(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClosedSources)
        report = train(small_recipe(*FEW, "model.fusion={name: paa, tau: 0.0}"), tmp_path / "run")
    assert {value for key, value in report["last"].items() if key.startswith("open/")} == {1.0}


def test_accumulated_parts_train_as_the_whole_batch(tmp_path: Path) -> None:
    still = (
        *("model.options.encoder.hidden_dropout_prob=0", "model.options.encoder.attention_probs_dropout_prob=0"),
        *(f"model.options.decoder.{name}=0" for name in ("embd_pdrop", "attn_pdrop", "resid_pdrop")),
    )
    options = (*FEW, *still, "train.buckets=false")
    whole = train(small_recipe(*options), tmp_path / "whole")
    parts = train(small_recipe(*options, "train.accumulation=3"), tmp_path / "parts")
    for one, other in zip(logged(whole), logged(parts), strict=True):
        for key in {"loss", "grad_norm", "eval_loss"} & one.keys():
            assert one[key] == pytest.approx(other[key], rel=1e-4), key


def test_minutes_end_training_and_leave_a_checkpoint(tmp_path: Path) -> None:
    report = train(small_recipe("train.minutes=1e-9"), tmp_path / "run")
    assert report["steps"] == 1
    assert newest_checkpoint(tmp_path / "run" / "checkpoints").name == "checkpoint-1"
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()


def test_a_full_disk_keeps_the_last_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    model_file = tmp_path / "run" / "model" / "model.safetensors"

    def fail(self: DialogueModel, folder: Path, **options: Any) -> None:
        if folder.name == "model.new" and model_file.exists():
            kept.append(digest(model_file))
            folder.mkdir()
            (folder / "model.safetensors").write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(self, folder, **options)

    whole = DialogueModel.save_pretrained
    monkeypatch.setattr(DialogueModel, "save_pretrained", fail)
    with pytest.raises(UserError, match=r"cannot save the model to .*No space left on device.*the last one is kept"):
        train(small_recipe(*FEW), tmp_path / "run")
    assert [digest(model_file)] == kept
    assert not (tmp_path / "run" / "model.new").exists()
    assert Run(tmp_path / "run").model().num_parameters() > 0


LIMITED = """
    import resource, sys
    from pathlib import Path
    from personae.errors import UserError
    from personae.training import train
    from tests.training.small import small_recipe

    folder = Path(sys.argv[1])

    def tell(step, of, values):
        if step == 4:  # from here on no file may grow as large as the optimiser's state, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    try:
        train(small_recipe("train.evaluate_every=100"), folder, tell=tell)
    except UserError as error:
        print("refused:", error)
"""


def test_a_checkpoint_that_cannot_be_written_is_the_users_error(tmp_path: Path) -> None:
    """torch's native writer raises RuntimeErrors that name no cause."""
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.search("^refused: cannot save a checkpoint to .* and --resume$", done.stdout, re.MULTILINE), done.stderr
    assert newest_checkpoint(tmp_path / "run" / "checkpoints").name == "checkpoint-3"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("text.budgets.persona=300", rf"ask for 300 tokens in 'persona', the model has {POSITIONS} positions"),
        ("text.budgets.reply=200", r"tokens in 'decoder', .* raise model\.options\.decoder\.n_positions"),
        ("model.name=fusd", r"unknown dialoguemodel 'fusd'\. Did you mean 'fused'\?"),
        ("model.fusion.name=pa", r"unknown fusion 'pa'\. Did you mean 'paa'\?"),
        ("model.fusion.tua=0.5", r"no option 'tua'\. Did you mean 'tau'\?"),
        ("model.fusion.tau=2", r"tau .* not '2'"),
        ("model.sources=[context]", "needs 2 sources, the recipe has 1"),
        ("model.options.decoder.n_head=3", "model: "),
        ("text.vocabulary=100", r"text\.vocabulary=100 is too small"),
        ("text.tokenizer=nowhere/at/all", "no tokenizer in 'nowhere/at/all'"),
        ("model.weights=nowhere/at/all", r"model\.weights='nowhere/at/all'"),
        ("text.budgets.reply=5", "raise text.budgets.reply or set text.long_replies=skip"),
        ("train.schedule=zigzag", "train: .*zigzag"),
        ("data.generate.corpus=intervew", "generates 'interview' only"),
        ("data.generate.sed=1", r"'data\.generate\.sed'\. Did you mean 'seed'\?"),
    ],
)
def test_what_cannot_be_trained_leaves_no_run_behind(override: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=expected) as caught:
        train(small_recipe(override), tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not Run(tmp_path / "run").recipe_file.exists()


@pytest.mark.parametrize("files", [{}, {"train": "missing.txt"}, {"train": "empty.txt"}, {"train": "binary.txt"}])
def test_data_that_cannot_be_read_leaves_no_run_behind(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"\x00\xff\x00")
    named = [f"data.{key}=[{tmp_path / name}]" for key, name in files.items()]
    with pytest.raises(UserError):
        train(small_recipe("data.generate=null", *named), tmp_path / "run")
    assert not Run(tmp_path / "run").recipe_file.exists()


def test_a_run_that_failed_to_start_can_be_put_right(tmp_path: Path) -> None:
    """The vocabulary of the first try is not taken for that of the second."""
    with pytest.raises(UserError):
        train(small_recipe("text.vocabulary=300", "text.budgets.reply=5", *FEW), tmp_path / "run")
    assert train(small_recipe(*FEW), tmp_path / "run")["vocabulary"] == 400


def test_precision_is_the_recipes(tmp_path: Path) -> None:
    recipe = small_recipe(*FEW, "train.precision=auto")
    report = train(recipe, tmp_path / "run")
    assert report["precision"] in ("bf16", "fp32")
    assert next(Run(tmp_path / "run").model().parameters()).dtype == torch.float32
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["train"]["precision"] == "auto"


@pytest.mark.slow
def test_two_processes_train_one_run(tmp_path: Path) -> None:
    """As torchrun starts them; each step sees two batches."""
    script = tmp_path / "launch.py"
    script.write_text(
        "import sys; from pathlib import Path; from personae.training import train\n"
        "from tests.training.small import small_recipe\n"
        "train(small_recipe('train.steps=4'), Path(sys.argv[1]))\n"
    )
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*launch, str(script), str(tmp_path / "run")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads((tmp_path / "run" / "report.json").read_text())["steps"] == 4
    assert Run(tmp_path / "run").model().num_parameters() > 0


def test_a_report_says_what_training_cost(finished: tuple[Path, dict[str, Any]]) -> None:
    """Tokens of all rows, as often as they were read, in the seconds it took."""
    folder, report = finished
    run, data = Run(folder), report["data"]["train"]
    packer = run.packer(run.tokenizer())
    dialogues = load([folder / "data" / "train.jsonl"]).dialogues
    assert data["tokens"] == sum(packer(dialogue).length for dialogue in dialogues)
    assert data["conversations"] == 12
    epochs = report["history"][-1]["epoch"]
    assert report["tokens_per_second"] == pytest.approx(epochs * data["tokens"] / report["seconds"], rel=0.05)
    assert report["device"] == (torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU")


@pytest.mark.parametrize("sample", Subset.names())
def test_a_share_of_the_data_is_trained_on_and_nothing_else(sample: str, tmp_path: Path) -> None:
    recipe = small_recipe("train.steps=1", "train.seed=3", "data.fraction=0.25", f"data.sample={sample}")
    report = train(recipe, tmp_path / "run")
    whole = load([tmp_path / "run" / "data" / "train.jsonl"])
    chosen = Subset.build(sample).choose(whole, 0.25, 3)
    assert training_data(Run(tmp_path / "run")).dialogues == chosen.dialogues
    data = report["data"]["train"]
    assert (data["examples"], data["conversations"]) == (len(chosen.dialogues), len(chosen.conversations))
    assert data["examples"] < len(whole.dialogues)
