"""`personae train`: a recipe becomes a run."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.frame import INTERRUPTED
from personae.cli.progress import Progress, leads
from personae.cli.quiet import quiet

if TYPE_CHECKING:
    from personae.recipe import Recipe


def train_command(
    recipe: Annotated[
        str, typer.Argument(help="A shipped recipe (`personae list recipes`) or a YAML file.", show_default=False)
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Change the recipe: train.lr=1e-4", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Folder of the run: runs/<recipe> by default.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train a model and keep the best one by validation perplexity."""
    from personae.recipe import load_recipe

    folder = out or default_folder(recipe)
    command = ["personae", "train", recipe, *(overrides or []), "--out", str(folder), "--resume"]
    report = run(load_recipe(recipe, overrides or []), folder, resume, shlex.join(command))
    if not leads():
        return
    if as_json:
        show.print_json({"run": str(folder), **{key: value for key, value in report.items() if key != "history"}})
    else:
        print_report(report, folder)


def default_folder(recipe: str) -> Path:
    """``runs/interview-paa`` for ``interview/paa``, ``runs/mine`` for ``somewhere/mine.yaml``."""
    path = Path(recipe)
    return Path("runs") / (path.stem if path.suffix in (".yaml", ".yml") else recipe.strip("/").replace("/", "-"))


def run(recipe: "Recipe", folder: Path, resume: bool, again: str) -> dict[str, Any]:
    """Train with progress on standard error; an interruption says that ``again`` goes on."""
    with quiet(), Progress() as progress:
        from personae.training import train

        try:
            return train(recipe, folder, resume, progress.tell)
        except KeyboardInterrupt:
            if leads():
                progress.stop()
                print(f"stopped at step {progress.step}. It goes on from its last checkpoint with:", file=sys.stderr)
                print(f"  {again}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


def print_report(report: dict[str, Any], folder: Path) -> None:
    """Print what came out, what was cut, and what to type next."""
    best, data = report["best"], report["data"]
    rows = [
        ("steps", f"{report['steps']:,}"),
        ("seconds", f"{report['seconds']:,.0f}"),
        ("parameters", f"{report['parameters']:,}"),
        ("best validation perplexity", f"{best['eval_perplexity']:,.4g} per token, at step {best['step']:,}"),
        ("open share of each source", opened(best)),
        ("examples", f"{data['train']['examples']:,} to train on, {data['valid']['examples']:,} to validate on"),
        ("cut to the budgets", cuts(data)),
        ("weights", "; ".join(report["weights"]) or "random start"),
        ("model", str(folder / "model")),
    ]
    show.print_table(str(folder), ("", ""), rows)
    place = shlex.quote(str(folder))
    print("next:", f"  personae chat {place} --explain", f"  personae evaluate {place} --data FILE", sep="\n")


def opened(line: dict[str, float]) -> str:
    """Per source, the share of contribution entries that are not masked to 0, averaged over layers."""
    shares: dict[str, list[float]] = {}
    for key, value in line.items():
        if key.startswith("open/"):
            shares.setdefault(key.split("/")[1], []).append(value)
    return ", ".join(f"{name} {sum(each) / len(each):.0%}" for name, each in shares.items()) or "no sources"


def cuts(data: dict[str, Any]) -> str:
    """What did not fit the budgets, in words."""
    cut = data["cuts"]
    parts = [
        f"{name}: {tokens:,} tokens, {cut['texts_cut'].get(name, 0):,} whole texts"
        for name, tokens in sorted(cut["tokens_cut"].items())
    ]
    if data["long_replies_left_out"]:
        parts.append(f"{data['long_replies_left_out']:,} long replies left out")
    return f"{'; '.join(parts)} (of {cut['dialogues']:,} dialogues)" if parts else "nothing"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("train")(train_command)
