"""Talking to a trained model: ``Chat`` answers for any persona and history, ``Bot`` holds one conversation."""

from personae.chat.bot import Bot, Explained, Word
from personae.chat.service import Chat, Turn
from personae.evidence import Evidence, Piece

__all__ = ["Bot", "Chat", "Evidence", "Explained", "Piece", "Turn", "Word"]
