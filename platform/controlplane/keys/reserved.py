"""Names that no secret may have, because they mean something to somebody else."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from runtimes.catalog import CATALOG, Runtime

# By whom they mean something to: names that change how the agent's programs run, not what they
# know. Credentials of third parties (GITHUB_TOKEN, NPM_TOKEN, GIT_PASSWORD) are not among them.
PROGRAMS: dict[str, tuple[str, ...]] = {
    # Code that is loaded into every program, and where it looks for names, zones and letters.
    "the system's loader and libraries": (
        *("LD_*", "DYLD_*", "GLIBC_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*"),
        *("HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_*", "TZ", "TZDIR", "GETCONF_DIR"),
    ),
    # Who and where a program is, and its language.
    "the system": (
        *("EUID", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "MAIL", "OLDPWD"),
        *("PATH", "PPID", "PWD", "SHLVL", "TEMP", "TERM", "TERMINFO*", "TMP", "TMPDIR", "UID"),
        *("USER", "USERNAME", "XDG_*", "_", "__*"),
    ),
    # Files and commands that a shell runs by itself, and how it reads a line.
    "the shell": (
        *("BASH_*", "BASHOPTS", "CDPATH", "ENV", "FPATH", "GLOBIGNORE", "IFS", "INPUTRC"),
        *("POSIXLY_CORRECT", "PROMPT_COMMAND", "PS?", "SHELL", "SHELLOPTS", "ZDOTDIR"),
    ),
    # Programs that others start for a person to write in or to read with.
    "programs that start another": (
        *("BROWSER", "EDITOR", "LESS", "LESSCLOSE", "LESSOPEN", "MANPAGER", "PAGER", "VISUAL"),
        *("MAKEFLAGS", "SUDO_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "RSYNC_RSH"),
    ),
    # Options, and code that is loaded before the program's own.
    "Python": ("PYTHON*", "VIRTUAL_ENV"),
    "Node.js": ("NODE_*", "BUN_OPTIONS", "DENO_DIR", "TSX_*"),
    "Perl": ("PERL5*", "PERLIO*", "PERL_*"),
    "Ruby": (
        *("RUBYOPT", "RUBYLIB", "RUBYPATH", "RUBYSHELL", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE"),
    ),
    "Java": ("CLASSPATH", "JAVA_*OPTIONS", "JAVA_HOME", "_JAVA_OPTIONS", "JDK_*_OPTIONS"),
    # Commands that Git runs, and where its settings and objects lie.
    "Git": (
        *("GIT_ASKPASS", "GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_PROXY_COMMAND", "GIT_SSH*"),
        *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSL_*"),
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_TEMPLATE_DIR"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_*", "GIT_TRACE*", "GIT_ALLOW_PROTOCOL"),
    ),
    # From where packages come, and what is run when one is installed.
    "package installers": (
        *("PIP_*", "PIPX_*", "UV_*", "NPM_CONFIG_*", "PNPM_*", "YARN_*", "COREPACK_*"),
    ),
    # Whom to trust at the other end of a line; SSLKEYLOGFILE writes down its keys.
    "TLS libraries": (
        *("AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "CURL_HOME", "HTTPLIB2_CA_CERTS", "OPENSSL_*"),
        *("REQUESTS_CA_BUNDLE", "SSL_CERT_*", "SSLKEYLOGFILE", "WEBSOCKET_CLIENT_CA_BUNDLE"),
    ),
    # Through whom everything goes that the agent says.
    "programs that use proxies": ("*_PROXY",),
}
OURS = ("ROOST_*",)
# What the makers of models call their keys, beside the names that the catalogue has.
KEYS = ("ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_API_KEY", "CLAUDE_CODE_*")


def reserved_by(name: str, runtime: Runtime | None = None) -> str:
    """Who keeps the name for himself, as people call him, or nothing. Case does not count: some
    programs also read these names in small letters.

    A runtime's names are kept from its own agents only: many are honest names elsewhere, such as
    DATABASE_URL or SENTRY_AUTH_TOKEN.
    """
    if _matches(name, OURS):
        return "Roost"
    for keeper, patterns in PROGRAMS.items():
        if _matches(name, patterns):
            return keeper
    if runtime is not None and _matches(name, runtime.reserved_env):
        return runtime.title
    return ""


def is_key_variable(name: str, runtimes: Iterable[Runtime] = CATALOG.values()) -> bool:
    """Whether a model provider's key or address travels under that name."""
    providers = [provider for runtime in runtimes for provider in runtime.providers.values()]
    known = {provider.env for provider in providers}
    known |= {provider.base_url_env for provider in providers if provider.base_url_env}
    return name in known or _matches(name, KEYS)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern) for pattern in patterns)
