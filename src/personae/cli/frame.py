"""What every command shares: errors as one line, exit codes, `--version`."""

import errno
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from personae._version import __version__
from personae.errors import UserError

PIPE_CLOSED = 1
USER_ERROR = 2
INTERRUPTED = 130
NO_SPACE = os.strerror(errno.ENOSPC)


def explain(error: BaseException) -> str | None:
    """Return the one line to show for ``error``, or None for a defect of ours."""
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, UserError | OSError):
        message = str(error)
    elif NO_SPACE in str(error):  # libraries that write in native code raise errors of their own
        message = NO_SPACE
    else:
        return None
    return f"personae: error: {' '.join(message.split())}"


def debugging() -> bool:
    """Whether the user asked for tracebacks with ``PERSONAE_DEBUG=1``."""
    return os.environ.get("PERSONAE_DEBUG", "") not in ("", "0")


def close_stdout() -> None:
    """Send what is still to be printed nowhere: the reader of a pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Frame(TyperGroup):
    """The group of all commands: a user's error is one line on stderr, a defect keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            close_stdout()
            raise typer.Exit(PIPE_CLOSED) from None
        except Exception as error:
            line = None if debugging() else explain(error)
            if line is None:
                raise
            print(line, file=sys.stderr)
            raise typer.Exit(USER_ERROR) from None
        return result


def print_version(wanted: bool) -> None:
    """Print the version and stop, where ``--version`` is given."""
    if wanted:
        print(f"personae {__version__}")
        raise typer.Exit
