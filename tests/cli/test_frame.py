"""The frame of the command line: help, version, one-line errors, exit codes, tables."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from personae import __version__
from personae.cli import app, show
from personae.cli.frame import Frame, explain
from personae.cli.listing import KINDS
from personae.errors import UserError


def run(*arguments: str, program: typer.Typer = app):
    return CliRunner().invoke(program, arguments)


def failing(error: BaseException):
    """Run a program of the frame whose only command raises ``error``."""
    program = typer.Typer(cls=Frame, pretty_exceptions_enable=False)

    @program.callback()
    def group() -> None:
        pass

    @program.command()
    def fail() -> None:
        raise error

    return run("fail", program=program)


def python(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60, **options
    )


def test_version():
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"personae {__version__}\n")


def test_no_arguments_is_help():
    assert "list" in run().output
    assert "data" in run().output


def test_help_loads_nothing_heavy():
    heavy = "{'torch', 'transformers', 'datasets', 'matplotlib', 'numpy'}"
    code = f"import sys; from personae.cli import app; print({heavy} & set(sys.modules))"
    assert python("-c", code).stdout == "set()\n"


@pytest.mark.slow
def test_help_is_fast():
    started = time.perf_counter()
    result = python("-c", "from personae.cli import main; main()", "--help")
    assert result.returncode == 0
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("no run at x:\n train one"), "no run at x: train one"),
        (
            FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "a.txt"),
            "a.txt: No such file or directory",
        ),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "b.txt"), "b.txt: Permission denied"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (
            OSError("x is not a local folder\nand is not a hub name"),
            "x is not a local folder and is not a hub name",
        ),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "No space left on device"),
    ],
)
def test_a_users_error_is_one_line_and_exit_code_2(error, line, monkeypatch):
    monkeypatch.delenv("PERSONAE_DEBUG", raising=False)
    result = failing(error)
    assert result.exit_code == 2
    assert result.stderr == f"personae: error: {line}\n"
    assert result.stdout == ""


def test_a_defect_keeps_its_traceback():
    assert explain(RuntimeError("broken")) is None
    assert isinstance(failing(RuntimeError("broken")).exception, RuntimeError)


def test_debugging_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("PERSONAE_DEBUG", "1")
    assert isinstance(failing(UserError("no")).exception, UserError)


def test_interrupt_is_130():
    assert failing(KeyboardInterrupt()).exit_code == 130


def test_as_a_process_an_error_is_one_line():
    result = python("-c", "from personae.cli import main; main()", "list", "fusion")
    assert result.returncode == 2
    assert result.stderr.startswith("personae: error: unknown kind 'fusion'. Did you mean 'fusions'?")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_pipe_shows_no_traceback(options):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from personae.cli import main; main()", "list", "fusions", *options]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, b"")


def test_unknown_option_names_the_nearest():
    result = run("list", "fusions", "--jsn")
    assert result.exit_code == 2
    assert "--json" in result.stderr


@pytest.mark.parametrize("kind", ["fusions", "readers", "metrics", "floors", "published"])
def test_list_prints_names_and_summaries(kind):
    rows = json.loads(run("list", kind, "--json").stdout)
    assert rows
    assert all(row["summary"] for row in rows)
    text = run("list", kind).stdout
    assert all(row["name"] in text and row["summary"] in text for row in rows)


def test_list_unknown_kind_lists_the_choices():
    result = run("list", "planets")
    assert result.exit_code == 2
    assert ", ".join(KINDS) in result.stderr


def test_data_check_prints_counts(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 your persona: i bake .\n2 hi !\thello .\n3 what do you do ?\ti bake .\n")
    report = json.loads(run("data", "check", str(path), "--json").stdout)
    assert report["files"][0]["examples"] == 2
    output = run("data", "check", str(path), str(path)).stdout
    assert "personas shared" in output
    assert "reply" in output


def test_data_check_of_a_missing_file_is_one_line(tmp_path):
    result = run("data", "check", str(tmp_path / "none.txt"))
    assert result.exit_code == 2
    assert "none.txt" in result.stderr
    assert result.stderr.count("\n") == 1


def test_tables_are_whole_away_from_a_terminal(capsys):
    long = "a long text [of one cell] " * 20
    show.print_table("title", ("name", "count"), [(long, 3), ("b", 0.123456)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "title"
    assert any(long.strip() in line for line in lines)
    assert any("0.1235" in line for line in lines)
    assert not any(line.startswith("\x1b") for line in lines)


def test_an_empty_table_shows_its_columns(capsys):
    show.print_table("title", ("name", "count"), [])
    assert "count" in capsys.readouterr().out


def test_json_keeps_letters(capsys):
    show.print_json({"größe": [1, None]})
    assert json.loads(capsys.readouterr().out) == {"größe": [1, None]}
