"""Talking to a trained model: ``Chat`` answers for any persona and history, ``Bot`` holds one conversation."""

from personae.chat.bot import Bot
from personae.chat.service import Chat, Turn
from personae.evidence import Evidence, Explained, Piece, Text, Word

__all__ = ["Bot", "Chat", "Evidence", "Explained", "Piece", "Text", "Turn", "Word"]
