"""Streaming: a worker thread generates, the consumer reads pieces as they come."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, StoppingCriteria
from transformers.generation.streamers import BaseStreamer

from personae.evidence import Evidence, Piece, average
from personae.text.tokenizer import decode_reply

Tell = Callable[[Piece], None]

# torch's random state and a model's hooks belong to the whole process, so replies are made one at a time.
ONE_AT_A_TIME = threading.Lock()
HALF_A_CHARACTER = "\ufffd"


class Stop(StoppingCriteria):
    """Ends ``generate`` after the current token once ``set`` was called, from any thread."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def set(self) -> None:
        """Ask for the end."""
        self.event.set()

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        """(B,) True where a row is to end."""
        return torch.full((input_ids.shape[0],), self.event.is_set(), dtype=torch.bool, device=input_ids.device)


class Pieces(BaseStreamer):
    """Turns the token ids that ``generate`` makes into pieces of text.

    A piece is one token, or several where a character spans them. ``evidence(k)`` gives the evidence of the
    reply's token k. Blanks at both ends of the reply are left out.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, tell: Tell, evidence: Callable[[int], Evidence] | None = None
    ) -> None:
        self.tokenizer, self.tell, self.evidence = tokenizer, tell, evidence
        self.special = set(tokenizer.all_special_ids)
        self.ids: list[int] = []
        self.waiting: list[Evidence] = []
        self.count, self.sent, self.prompted = 0, "", False

    def put(self, value: Tensor) -> None:
        """Take the prompt (1, T) first, then one token (1,) at a time."""
        if self.prompted:
            for token in value.flatten().tolist():
                self.add(token)
        self.prompted = True

    def add(self, token: int) -> None:
        """Take one token of the reply, and tell the text that it completes."""
        at, self.count = self.count, self.count + 1
        if token in self.special:
            return
        self.ids.append(token)
        if self.evidence is not None:
            self.waiting.append(self.evidence(at))
        text = self.text()
        if not text.endswith(HALF_A_CHARACTER):
            self._send(text)

    def end(self) -> None:
        """Tell what is left: a character that never became whole."""
        self._send(self.text())

    def text(self) -> str:
        """The reply so far."""
        return decode_reply(self.tokenizer, self.ids)

    def _send(self, text: str) -> None:
        if len(text) > len(self.sent):
            evidence = average(self.waiting) if self.waiting else None
            self.tell(Piece(text[len(self.sent) :], evidence))
            self.sent, self.waiting = text, []


def stream(work: Callable[[Tell, Stop], None]) -> Generator[Piece, None, None]:
    """Yield what ``work(tell, stop)`` tells from a thread of its own.

    The thread starts with the first piece asked for. What ``work`` raises is raised here. When the consumer
    stops early, ``stop`` is set, and the thread has ended once the generator is closed.
    """
    told: SimpleQueue[Piece | BaseException | None] = SimpleQueue()
    stop = Stop()
    thread = threading.Thread(target=_run, args=(work, told.put, stop), name="personae-reply", daemon=True)
    thread.start()
    try:
        while (item := told.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()


def _run(work: Callable[[Tell, Stop], None], tell: Callable[[Any], None], stop: Stop) -> None:
    try:
        with my_turn(stop) as mine:
            if mine:
                work(tell, stop)
    except BaseException as error:  # handed over to the consumer, which raises it
        tell(error)
    finally:
        tell(None)


@contextmanager
def my_turn(stop: Stop) -> Iterator[bool]:
    """Wait until no other reply is being made; False where ``stop`` was set meanwhile."""
    while not ONE_AT_A_TIME.acquire(timeout=0.05):
        if stop.event.is_set():
            yield False
            return
    try:
        yield not stop.event.is_set()
    finally:
        ONE_AT_A_TIME.release()


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Draw from ``seed`` inside, and leave torch's random state as it was; None draws from that state."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
