"""`personae explain`: what each sentence and turn has to do with a reply; with `--score`, how often that is right."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personae.cli import show
from personae.cli.evaluate import Json, Limit, ReaderName, Record, progress
from personae.cli.quiet import quiet
from personae.cli.scores import print_group
from personae.cli.talking import Overrides, PersonaFile, Precision, RunFolder, SayAs, Seed, given_persona, open_chat
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.chat import Chat, Explained
    from personae.evidence.score import EvidenceScores
    from personae.text.dialogue import Dialogue

METRICS = ("evidence_accuracy_attention", "evidence_accuracy_leave_one_out")
AGREEMENT = ("evidence_agreement", "evidence_correlation")

Context = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A turn, oldest first, the last one the partner's; may be repeated."),
]
ReplyText = Annotated[
    str | None, typer.Option("--reply", metavar="TEXT", help="The reply: the model's own by default.")
]
Data = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Explain an example of a data file, or with --score all of them."),
]
Number = Annotated[int | None, typer.Option(metavar="N", help="Which example of --data, from 1: the first by default.")]
Gold = Annotated[bool, typer.Option("--gold", help="Explain the example's gold reply.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to look at in a browser.")]
ScoreFlag = Annotated[
    bool,
    typer.Option("--score", help="How often the top text is the one that a gold reply rests on, as data knows it."),
]
About = Annotated[str, typer.Option(metavar="TEXT", help="What the kept result is and is not, for --record.")]


def explain_command(
    run: RunFolder,
    overrides: Overrides = None,
    persona: PersonaFile = None,
    say_as: SayAs = None,
    context: Context = None,
    reply: ReplyText = None,
    data: Data = None,
    number: Number = None,
    gold: Gold = False,
    reader: ReaderName = None,
    seed: Seed = None,
    precision: Precision = "fp32",
    html: Html = None,
    score: ScoreFlag = False,
    limit: Limit = None,
    record: Record = None,
    about: About = "",
    as_json: Json = False,
) -> None:
    """Show what each persona sentence and context turn has to do with a reply: by attention, and by leaving it out."""
    here = {"--persona": persona, "--say-as": say_as, "--context": context}
    one = {"--reply": reply, "--number": number, "--gold": gold, "--seed": seed, "--html": html, "KEY=VALUE": overrides}
    if score:
        refuse("--score", {**here, **one, "--precision": precision != "fp32"})
        score_run(run, data or [], reader, limit, record, about, as_json)
        return
    refuse("one reply (without --score)", {"--limit": limit, "--record": record, "--about": about})
    check_sources(here, data, {"--number": number, "--gold": gold, "--reader": reader})
    check_reply(reply, gold, {"KEY=VALUE": overrides, "--seed": seed})
    sentences = given_persona(persona, say_as) or []
    with quiet():
        chat = open_chat(run, overrides or [], precision)
        dialogue = (
            example(data, 1 if number is None else number, reader)
            if data
            else conversation(chat, sentences, context or [])
        )
        explained = chat.explain(replace(dialogue, response=chosen_reply(chat, dialogue, reply, gold, seed)))
    print_one(explained, html, as_json)


def refuse(what: str, options: Mapping[str, object]) -> None:
    """Refuse options that would do nothing here."""
    # 0 is a value that was given, though it equals False.
    given = [name for name, value in options.items() if value or (value == 0 and value is not False)]
    if given:
        raise UserError(f"{', '.join(given)}: does nothing for {what}; leave it out")


def check_sources(here: Mapping[str, object], data: Sequence[Path] | None, of_data: Mapping[str, object]) -> None:
    """The texts come from the command line or from a file, not from both."""
    if data:
        refuse("an example of --data", here)
        return
    refuse("texts that are not from --data", of_data)
    if not here["--context"]:
        raise UserError("nothing to explain: give --context TEXT, or --data FILE")


def check_reply(reply: str | None, gold: bool, of_its_own: Mapping[str, object]) -> None:
    """There is one reply; what decides how the model speaks is for its own."""
    if reply is not None or gold:
        refuse("a given reply", {**of_its_own, "--reply with --gold": gold and reply is not None})


def conversation(chat: "Chat", persona: Sequence[str], context: Sequence[str]) -> "Dialogue":
    """The sources that the command line gives; turns go to and fro, the last is the partner's."""
    from personae.chat import Turn
    from personae.text.dialogue import PARTNER, SELF

    roles = [(PARTNER, SELF)[(len(context) - 1 - at) % 2] for at in range(len(context))]
    return chat.dialogue(persona, [Turn(*turn) for turn in zip(roles, context, strict=True)])


def example(paths: Sequence[Path], number: int, reader: str | None) -> "Dialogue":
    """Example ``number``, from 1, of ``paths``."""
    from personae.data.load import load

    dialogues = load(paths, reader).dialogues
    if not 1 <= number <= len(dialogues):
        raise UserError(f"--number {number}: the data has examples 1 to {len(dialogues)}")
    return dialogues[number - 1]


def chosen_reply(chat: "Chat", dialogue: "Dialogue", reply: str | None, gold: bool, seed: int | None) -> str:
    """The reply to explain: the one given, the gold one, or what the model says."""
    if reply is not None:
        return reply
    if gold:
        return dialogue.response
    said = "".join(piece.text for piece in chat.answer(dialogue, seed=seed))
    if not said.strip():
        raise UserError("the model says nothing here: give --reply TEXT to explain a reply of your own")
    return said


def print_one(explained: "Explained", html: Path | None, as_json: bool) -> None:
    """Print one explained reply, and write its page."""
    from personae.cli.explaining import print_explained
    from personae.evidence.page import write_page

    if html is not None:
        write_page(html, explained)
    if as_json:
        show.print_json(explained.as_dict())
        return
    print_explained(explained, show.console())
    if html is not None:
        print(html)


def score_run(
    folder: Path,
    data: Sequence[Path],
    reader: str | None,
    limit: int | None,
    record: Path | None,
    about: str,
    as_json: bool,
) -> None:
    """Score both views on known evidence."""
    from personae.cli.evaluate import check_options
    from personae.runs import Run

    check_options(data, record, about)
    with quiet(), progress() as tell:
        from personae.evaluation.record import write_record
        from personae.evidence.score import score

        scores = score(Run(folder), data, reader=reader, limit=limit, tell=tell)
    if record is not None:
        write_record(record, Run(folder), scores, about)
    if as_json:
        show.print_json(scores.as_dict())
    else:
        print_scores(scores)


def print_scores(scores: "EvidenceScores") -> None:
    """Print the scores by kind of question, and below them what they rest on."""
    from personae.evidence.explained import VIEWS

    data = scores.facts["data"]
    asked = scores.facts["examples_with_evidence"]
    print(f"{', '.join(data['path'])}: {asked} of {data['examples']} gold replies have known evidence")
    print("value [95 % interval by conversation]\n")
    print_group("the heaviest text is one that the reply rests on, share", METRICS, scores.rows)
    print_group("attention and leaving out: same heaviest text, share; rank correlation", AGREEMENT, scores.rows)
    print("the turn that is answered stands aside: nearly every reply rests on it (question_first, below)")
    print(f"attention: {VIEWS[scores.view]}")
    for score in scores.rows["all"].values():
        print(score.signature)


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("explain")(explain_command)
