"""supervisord's configuration file, which holds secrets and is therefore 0600."""

import re
import shlex
from collections.abc import Iterable, Mapping

from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation
from deploy.local.programs import Program

HEAD = """\
[supervisord]
nodaemon=false
identifier=roost-{name}
logfile={log}/supervisord.log
logfile_maxbytes=5MB
logfile_backups=1
pidfile={run}/supervisord.pid
childlogdir={log}
{user}
[unix_http_server]
file={run}/supervisor.sock
chmod=0700

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{run}/supervisor.sock
"""

# What dies after `startsecs` is restarted at once; what dies sooner is tried again ever more
# slowly, without an end. `up` starts the programs, in its own order.
PROGRAM = """\

[program:{name}]
command={command}
directory={directory}
environment={environment}
autostart=false
autorestart=true
startsecs={start_s}
startretries=100000
stopsignal={stop_signal}
stopwaitsecs={stop_wait_s}
stopasgroup=false
killasgroup=true
redirect_stderr=true
stdout_logfile={log}/{name}.log
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
"""


def render(
    installation: Installation, programs: Iterable[Program], shared: Mapping[str, str]
) -> str:
    """`shared` goes to every program, under its own environment."""
    head = HEAD.format(
        name=installation.name,
        log=_plain(installation.log_dir),
        run=_plain(installation.run_dir),
        user="user=root\n" if installation.root else "",
    )
    return head + "".join(_program(installation, program, shared) for program in programs)


def _program(installation: Installation, program: Program, shared: Mapping[str, str]) -> str:
    return PROGRAM.format(
        name=program.name,
        command=_escape(shlex.join(program.argv)),
        directory=_plain(program.directory),
        environment=environment({**shared, **program.environment}),
        start_s=program.start_s,
        stop_signal=program.stop_signal,
        stop_wait_s=program.stop_wait_s,
        log=_plain(installation.log_dir),
    )


def environment(values: Mapping[str, str]) -> str:
    """`NAME="value",…` as supervisord reads it; a value it cannot carry is refused."""
    return ",".join(f"{name}={_quoted(name, value)}" for name, value in sorted(values.items()))


def _quoted(name: str, value: str) -> str:
    # supervisord strips both kinds of quotes from both ends of a value, knows no escapes, and
    # takes what follows a space and a semicolon or hash for a comment, within quotes too.
    quote = "'" if '"' in value else '"'
    broken = quote in value or value.strip("'\"") != value or re.search(r"[\r\n]|\s[;#]", value)
    if broken:
        raise CheckFailed(
            f"The value of {name} holds quotes, line breaks or a comment sign after a space,"
            " which cannot be passed on.",
            "Remove them from the environment variable.",
        )
    return f"{quote}{_escape(value)}{quote}"


def _plain(path: object) -> str:
    return _escape(str(path))


def _escape(text: str) -> str:
    # A percent sign begins one of supervisord's own expressions.
    return text.replace("%", "%%")
