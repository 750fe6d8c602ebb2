#!/bin/sh
# Make .venv from requirements.lock and put this repository into it; STAMP is written at the end,
# so that make comes here again only when something changed or the last try was cut short.
#
#   sh deploy/local/venv.sh STAMP          PYTHON chooses the interpreter (default python3)
set -eu
stamp=$1
python=${PYTHON:-python3}

fail() {
    printf '\n%s\n%s\n' "$1" "$2" >&2
    exit 1
}

command -v "$python" >/dev/null || fail "Python was not found (looked for '$python')." \
    "Install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3 ..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old." \
        "Install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3 ..."

if [ ! -x .venv/bin/python ]; then
    # Debian keeps what `venv` needs in a package of its own.
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
            fail "This Python cannot make virtual environments (ensurepip is missing)." \
                "Install your system's package for it; on Debian and Ubuntu: apt install python3-venv"
        fi
        echo "installing python3-venv"
        export DEBIAN_FRONTEND=noninteractive
        apt-get -qq -o DPkg::Lock::Timeout=180 update
        apt-get -qq -o DPkg::Lock::Timeout=180 install -y --no-install-recommends python3-venv \
            >/dev/null
    fi
    echo "making .venv"
    "$python" -m venv .venv
fi

echo "installing the packages of requirements.lock (a few minutes the first time)"
export PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip install --quiet --quiet --require-hashes --requirement requirements.lock ||
    fail "The packages could not be installed." "Check the network and the disk, then try again."
.venv/bin/python -m pip install --quiet --quiet --no-deps --editable . ||
    fail "The repository could not be installed." "Check the network, then try again."
touch "$stamp"
