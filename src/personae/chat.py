"""Talking to a trained model: ``Chat`` serves any persona and history, ``Bot`` holds one conversation."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from transformers import PreTrainedTokenizerFast

from personae.decoding import Decoding
from personae.errors import UserError
from personae.evidence import Evidence, Piece, Recorder, words
from personae.models import DialogueModel
from personae.runs import Run
from personae.streaming import Pieces, Stop, stream
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packed, Packer
