"""`personae chat`: talk to a model in the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from personae.cli import show
from personae.cli.colours import Painter, printable
from personae.cli.quiet import quiet
from personae.cli.talking import (
    CheckerFolder,
    ExplainFlag,
    Overrides,
    PersonaFile,
    Precision,
    RunFolder,
    SayAs,
    Seed,
    cut_tokens,
    given_persona,
    open_chat,
    open_checker,
    read_persona,
    trust,
    warn_of_cut,
)
from personae.errors import UserError, nearest
from personae.text.dialogue import SELF

if TYPE_CHECKING:
    from personae.chat import Bot
    from personae.consistency import Checker
    from personae.decoding import Decoding

Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Sample N replies and say the one that agrees best with the persona; needs --checker."
    ),
]
HELP = """/persona        show the persona; /persona FILE takes another and starts anew
/explain        colour words by their sources, or stop it
/why            what each sentence and turn has to do with the last reply
/reset          forget what was said
/quit           leave, as does Ctrl-D; Ctrl-C stops a reply"""


def chat_command(
    run: RunFolder,
    overrides: Overrides = None,
    persona: PersonaFile = None,
    say_as: SayAs = None,
    explain: ExplainFlag = False,
    seed: Seed = None,
    precision: Precision = "fp32",
    checker: CheckerFolder = None,
    samples: Samples = None,
) -> None:
    """Talk to a model in the terminal; from a pipe, one message a line."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    given = given_persona(persona, say_as)
    judge = open_checker(checker)
    with quiet():
        from personae.chat import Bot

        chat = open_chat(run, overrides or [], precision)
        asked = given is None and chat.uses_persona
        chosen = samples_of(chat.decoding, samples, judge)
        prefer = judge.c_scores if judge and samples else None
        bot = Bot(chat, ask_persona(interactive) if asked else given or [], chosen, seed, prefer)
        session = Session(bot, explain, interactive, judge)
        if interactive and not asked:
            session.show_persona()
        session.talk()


def samples_of(decoding: "Decoding", samples: int | None, judge: "Checker | None") -> "Decoding":
    """The settings that make ``samples`` replies to choose from (None: the one reply that they make)."""
    if samples is None:
        return decoding
    if judge is None:
        raise UserError(f"--samples {samples} needs something to choose by: give --checker DIR")
    if samples < 2:
        raise UserError(f"--samples {samples}: choose from 2 or more")
    return decoding.but(copies=samples, sample=True) if decoding.beams == 1 else decoding.but(copies=samples)


def ask_persona(interactive: bool) -> list[str]:
    """Ask for the persona's sentences."""
    if not interactive:
        raise UserError("no persona: give --persona FILE or --say-as SENTENCE")
    print("Who am I? One sentence a line, such as: i have a dog named rex .\nAn empty line ends the list.")
    sentences: list[str] = []
    while sentence := next(prompted("persona: "), "").strip():
        sentences.append(sentence)
    return sentences


def prompted(prompt: str) -> Iterator[str]:
    """The lines typed until Ctrl-D."""
    with suppress(ImportError):
        import readline  # noqa: F401 - editing keys and history for input()
    try:
        while True:
            yield input(prompt)
    except EOFError:
        print()
    except KeyboardInterrupt:
        print()
        raise


def piped() -> Iterator[str]:
    """The lines of standard input that are not blank."""
    try:
        yield from (line for line in sys.stdin if line.strip())
    except UnicodeDecodeError as error:
        raise UserError("standard input is not UTF-8 text") from error


class Session:
    """One conversation in the terminal."""

    def __init__(self, bot: "Bot", explain: bool, interactive: bool, checker: "Checker | None" = None) -> None:
        self.bot, self.explain, self.interactive, self.checker = bot, explain, interactive, checker
        self.console = show.console()
        self.cut = 0
        self.warned: tuple[str, ...] = ()
        self.commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: print(HELP),
            "/persona": self.persona,
            "/explain": self.switch,
            "/why": self.why,
            "/reset": self.reset,
        }

    def talk(self) -> None:
        """Answer until the other side leaves."""
        if self.interactive:
            if self.checker:
                print(f"checker: {trust(self.checker)}")
            print("Say something; /help lists the commands.\n")
        if self.explain:
            self.legend()
        for line in prompted("you: ") if self.interactive else piped():
            if line.strip() == "/quit":
                break
            self.take(line.strip())

    def take(self, line: str) -> None:
        """Answer one line; in a terminal an error of the user's is told and the conversation goes on."""
        try:
            if line.startswith("/"):
                self.command(line)
            elif line:
                self.answer(line)
        except UserError as error:
            if not self.interactive:
                raise
            print(f"{error}")

    def command(self, line: str) -> None:
        """Follow one of the commands; an unknown one is a ``UserError``."""
        name, _, rest = line.partition(" ")
        if name not in self.commands:
            known = [*self.commands, "/quit"]
            raise UserError(f"unknown command '{name}'.{nearest(name, known)} Known: {', '.join(known)}")
        self.commands[name](rest.strip())

    def answer(self, line: str) -> None:
        """Print the reply as it comes; Ctrl-C ends it, not the conversation."""
        from personae.evidence import words

        painter = Painter(self.console, self.sources if self.explain else ())
        with closing(self.bot.stream(line, self.explain)) as pieces:
            try:
                painter.say(words(pieces), head="bot: " if self.interactive else "")
            except KeyboardInterrupt:
                if not self.interactive:
                    raise
                print(" [stopped]")
        self.flag(line)
        self.notice()

    def flag(self, line: str) -> None:
        """Name the sentences of the persona that the reply to ``line`` contradicts, in the checker's opinion."""
        last = self.bot.history[-1]
        if self.checker is None or last.role != SELF:
            return
        for sentence in self.checker.contradicted(self.bot.persona, line, last.text):
            if self.interactive:
                self.console.print(Text(f'⚠ contradicts: "{printable(sentence)}"', style="yellow"), soft_wrap=True)
            else:
                print(f'contradicts: "{printable(sentence)}"')

    def notice(self) -> None:
        """Say once per persona that it does not fit."""
        cut = cut_tokens(self.bot)
        if cut > self.cut and self.bot.persona != self.warned:
            warn_of_cut(self.bot)
            self.warned = self.bot.persona
        self.cut = cut

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that words are told apart by."""
        return self.bot.chat.voices

    def legend(self) -> None:
        """Say how to read the words."""
        self.console.print(Painter(self.console, self.sources).legend(), soft_wrap=True)

    def switch(self, _: str) -> None:
        """Turn the explanation on or off."""
        self.explain = not self.explain
        if self.explain:
            self.legend()
        else:
            print("words are plain again")

    def why(self, _: str) -> None:
        """Say which sentences and turns the last reply rests on."""
        from personae.cli.explaining import print_explained

        print_explained(self.bot.why(), self.console)

    def reset(self, _: str) -> None:
        """Forget the conversation."""
        self.bot.reset()
        print("forgotten: we start anew")

    def persona(self, file: str) -> None:
        """Show the persona, or take the one in ``file`` and start anew."""
        if file:
            sentences = read_persona(Path(file))
            self.bot.chat.check_persona(sentences)
            self.bot.persona = tuple(sentences)
            self.bot.reset()
        self.show_persona()

    def show_persona(self) -> None:
        """Print who the model is."""
        if self.bot.persona:
            print("I am:", *self.bot.persona, sep="\n  ")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("chat")(chat_command)
