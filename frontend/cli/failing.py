from typing import NoReturn

import typer

FOUND, FAILED = 1, 2


def fail(what: str) -> NoReturn:
    """A sentence on the error output, and the exit code for what could not be done."""
    typer.echo(what, err=True)
    raise typer.Exit(FAILED)
