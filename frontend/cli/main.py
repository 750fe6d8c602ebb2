"""The commands. Exit code 0: all is well. 1: something was found. 2: it could not be done."""

import typer

from frontend.cli.scan import scan

app = typer.Typer(
    name="roost",
    help="Roost from a terminal. Set ROOST_URL, ROOST_ORG and ROOST_TOKEN, or run it where "
    "`make up` was run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with its variables would show the token
)


@app.callback()
def roost() -> None:
    """Keeps the name of the command in its place while there is one only."""


app.command()(scan)
