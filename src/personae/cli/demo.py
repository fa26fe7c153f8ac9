"""`personae demo`: generate a corpus, train on it, score the model, let two personas answer the same questions."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.train import run as run_training

if TYPE_CHECKING:
    from personae.chat import Chat
    from personae.evaluation import Evaluation

RECIPE = "interview/paa"
SPLITS = ("unseen_combinations", "unseen_values")
ACCURACIES = ("persona_accuracy", "context_accuracy", "both_accuracy")
PERSONAE = {
    "Emma": (
        "my friends call me emma .",
        "i have been a nurse since i left school .",
        "oslo is my home .",
        "i own a parrot called coco .",
        "my walls are painted green .",
        "i have nightmares about spiders .",
    ),
    "Oscar": (
        "everybody knows me as oscar .",
        "i am a pilot by trade .",
        "i moved to lisbon when i was young .",
        "rex the dog belongs to me .",
        "all i wear is black .",
        "i run away from heights .",
    ),
}
QUESTIONS = (
    "hello . who are you ?",
    "i see . what do you do for a living ?",
    "which town do you come from ?",
    "ok then . can you tell me about your pet ?",
    "i am scared of thunder . are we afraid of the same thing ?",
    "all right . do you remember what i am afraid of ?",
)


def demo_command(
    out: Annotated[Path, typer.Option(metavar="RUN", help="Folder of the run.")] = Path("runs/demo"),
) -> None:
    """Train a small model from nothing on a corpus made here, score it, and talk with two personas."""
    report = train(out)
    chat = score_and_open(out, report)
    for name, persona in PERSONAE.items():
        converse(chat, name, persona)
    say_next(out)


def train(out: Path) -> Mapping[str, Any]:
    """Train the demo's run, go on where it was interrupted, or find it trained already; return its report."""
    import json

    from personae.recipe import load_recipe
    from personae.runs import Run

    recipe, found = load_recipe(RECIPE), Run(out)
    if found.report_file.is_file():
        print(f"{out} is trained already; remove it to train again.\n")
        return dict(json.loads(found.report_file.read_text(encoding="utf-8")))
    print(f"1. Training {RECIPE} from random weights on a corpus generated here: every persona holds six facts,")
    print("   a partner asks, and each reply rests on the persona, on the conversation, on both or on neither.\n")
    report = run_training(recipe, out, found.recipe_file.is_file(), f"personae demo --out {out}")
    print(f"\n   {report['steps']:,} steps in {report['seconds']:.0f} s, {report['parameters']:,} parameters; ")
    print(f"   validation perplexity {report['best']['eval_perplexity']:.3f}; the loss curve is {out / 'loss.png'}\n")
    return report


def score_and_open(out: Path, report: Mapping[str, Any]) -> "Chat":
    """Score the run on both test splits beside the floors, write ``scores.json``, and open the chat."""
    from personae.chat import Chat
    from personae.cli.evaluate import progress
    from personae.cli.quiet import quiet
    from personae.data.load import load
    from personae.evaluation import evaluate
    from personae.runs import Run, write_json

    training = load([out / "data" / "train.jsonl"]).dialogues
    scored: dict[str, Evaluation] = {}
    with quiet(), progress() as tell:
        for split in SPLITS:
            files = [out / "data" / f"{split}.jsonl"]
            scored[split] = evaluate(Run(out), files, out / "evaluation" / split, training=training, tell=tell)
    write_json(out / "scores.json", summary(scored, report))
    print_scores(scored)
    with quiet():
        return Chat.load(out)


def summary(scored: Mapping[str, "Evaluation"], report: Mapping[str, Any]) -> dict[str, Any]:
    """The content of ``scores.json``: accuracies, intervals, signatures and floors by split."""
    model = {split: each.model for split, each in scored.items()}
    floors = {name: {split: each.floors[name] for split, each in scored.items()} for name in answering(scored)}
    return {
        **{key: {split: of[key].value for split, of in model.items()} for key in ACCURACIES},
        "floors": {
            name: {split: of["persona_accuracy"].value for split, of in by.items()} for name, by in floors.items()
        },
        "intervals": {key: {split: of[key].interval for split, of in model.items()} for key in ACCURACIES},
        "signatures": {key: {split: of[key].signature for split, of in model.items()} for key in ACCURACIES},
        "training": {key: report[key] for key in ("steps", "seconds", "parameters", "precision")},
    }


def first(scored: Mapping[str, "Evaluation"]) -> "Evaluation":
    """Any of the evaluations: all have the same floors."""
    return next(iter(scored.values()))


def answering(scored: Mapping[str, "Evaluation"]) -> list[str]:
    """The floors that are scored by their answers; what people said is not."""
    return [name for name, scores in first(scored).floors.items() if "persona_accuracy" in scores]


def print_scores(scored: Mapping[str, "Evaluation"]) -> None:
    """Persona accuracy of the model beside the floors, then what else was asked."""
    print("2. Right answers on personas that training never showed (share, 95 % interval by conversation)\n")
    names = ["model", *answering(scored)]
    rows = [[name, *(shown(each.rows[name]["persona_accuracy"]) for each in scored.values())] for name in names]
    show.print_table("asked for the persona", ("", *(split.replace("_", " ") for split in scored)), rows)
    more = [[key.split("_")[0], *(shown(each.model[key]) for each in scored.values())] for key in ACCURACIES[1:]]
    show.print_table("the model, asked for", ("", *(split.replace("_", " ") for split in scored)), more)
    print("Unseen values are words that training never showed: a small model from scratch cannot spell them.\n")


def shown(score: Any) -> str:
    """A share with its interval."""
    low, high = score.interval
    return f"{score.value:.3f} [{low:.2f}–{high:.2f}]"


def converse(chat: "Chat", name: str, persona: tuple[str, ...]) -> None:
    """Ask ``name`` the demo's questions; words are coloured by the source that spoke."""
    from personae.chat import Bot
    from personae.cli.colours import Painter
    from personae.evidence import words

    painter = Painter(show.console(), chat.voices)
    if name == next(iter(PERSONAE)):
        print("3. The same questions, two personas; which source spoke:")
        show.console().print(painter.legend())
    print(f"\n{name}: {' '.join(persona)}")
    bot = Bot(chat, persona)
    for question in QUESTIONS:
        print(f"  you   {question}")
        painter.say(words(bot.stream(question, explain=True)), head=f"  {name:5} ")


def say_next(out: Path) -> None:
    """What to type next."""
    print("\nnext, with .venv/bin/ before each command or the environment active:")
    print(f"  personae chat {out} --explain --say-as 'i work as a baker .' --say-as 'my name is tom .'")
    print(f"  personae evaluate {out} --data {out / 'data' / 'unseen_values.jsonl'}")
    print("  personae train convai2/paa-small --out runs/paa-small data.train=[FILE]")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("demo")(demo_command)
