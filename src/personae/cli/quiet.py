"""Keep libraries from talking over a command's own output."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """While active, transformers draws no bars of its own, and a warning is one line on standard error."""
    from transformers.utils import logging

    shown, level = warnings.showwarning, logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    warnings.showwarning = show_warning
    try:
        yield
    finally:
        warnings.showwarning = shown
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    print(f"personae: warning: {' '.join(str(message).split())}", file=sys.stderr)
