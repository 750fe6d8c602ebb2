"""What a program inside an agent's container can and cannot do. Asked from inside."""

import errno
import json
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from runtimes.catalog import CATALOG
from tests.engine.box import box, network_of, until_up
from tests.engine.conftest import ACME, INSTALLATION, POOL, wait_for

# A child of its own for each attempt, which says the name of the error the kernel gave, or OK.
ATTEMPTS = """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

def syscall(number, *arguments):
    call("syscall", ctypes.c_long(number), *arguments)

def attempt(code):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            exec(code)
            said = "OK"
        except OSError as error:
            said = errno.errorcode[error.errno]
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    return said or f"signal {os.WTERMSIG(status)}"

print(json.dumps({name: attempt(code) for name, code in json.loads(sys.argv[1]).items()}))
"""
REFUSED = [
    ("raw socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "EPERM"),
    ("packet socket", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)", "EPERM"),
    ("vsock", "socket.socket(40, socket.SOCK_STREAM)", "EPERM"),
    ("kernel crypto socket", "socket.socket(38, socket.SOCK_SEQPACKET)", "EPERM"),
    ("bluetooth socket", "socket.socket(31, socket.SOCK_RAW, 1)", "EPERM"),
    ("tipc socket", "socket.socket(30, socket.SOCK_SEQPACKET)", "EPERM"),
    ("can socket", "socket.socket(29, socket.SOCK_RAW, 1)", "EPERM"),
    ("xdp socket", "socket.socket(44, socket.SOCK_RAW)", "EPERM"),
    ("raw IPv6 socket", "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)", "EPERM"),
    ("trace what is not its own", "call('ptrace', 16, 4000000, 0, 0)", "ESRCH"),
    ("read another's memory", "syscall(310, 1, 0, 0, 0, 0, 0)", "EPERM"),
    ("take another's file", "syscall(438, 0, 0, 0)", "EPERM"),
    ("signal the host's first", "os.kill(4000000, 9)", "ESRCH"),
    ("load a program into the kernel", "syscall(321, 0, 0, 0)", "EPERM"),
    ("count events", "syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)", "EPERM"),
    ("key ring", "syscall(250, 0, -3, 1)", "EPERM"),
    ("add to the key ring", "syscall(248, b'user', b'x', b'x', 1, -3)", "EPERM"),
    ("handle page faults", "syscall(323, 0)", "EPERM"),
    ("enter a namespace", "syscall(308, os.open('/proc/self/ns/net', os.O_RDONLY), 0)", "EPERM"),
    ("open by handle", "syscall(304, 0, ctypes.create_string_buffer(64), 0)", "EPERM"),
    ("new mount interface", "syscall(430, b'tmpfs', 0)", "EPERM"),
    ("attributes of a mount", "syscall(442, 0, b'', 0, None, 0)", "EPERM"),
    ("another root", "syscall(155, b'/workspace', b'/workspace')", "EPERM"),
    ("kernel module", "syscall(175, None, 0, b'')", "EPERM"),
    ("kernel log", "syscall(103, 3, ctypes.create_string_buffer(64), 64)", "EPERM"),
    ("reboot", "syscall(169, 0xfee1dead, 672274793, 0x89abcdef, None)", "EPERM"),
    ("ports of the machine", "syscall(172, 3)", "EPERM"),
    ("new namespaces by clone3", "syscall(435, ctypes.create_string_buffer(88), 88)", "ENOSYS"),
    ("set up io_uring's ring", "syscall(427, 0, 0, None, 0)", "ENOSYS"),
    ("host name", "call('sethostname', b'x', 1)", "EPERM"),
    ("priority of the out-of-memory killer",
     "os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-900')", "EACCES"),
    ("device node", "os.mknod('/workspace/disk', 0o60600, os.makedev(7, 0))", "EPERM"),
    ("chroot", "os.chroot('/workspace')", "EPERM"),
    ("become root", "os.setuid(0)", "EPERM"),
    ("take a group", "os.setgroups([0])", "EPERM"),
    ("give a file away", "os.chown('/workspace/boots', 0, 0)", "EPERM"),
    ("higher priority", "os.nice(-5)", "EPERM"),
    ("mount", "call('mount', b'none', b'/workspace', b'tmpfs', 0, None)", "EPERM"),
    ("unmount", "call('umount2', b'/roost/id', 2)", "EPERM"),
    ("user namespace", "call('unshare', 0x10000000)", "EPERM"),
    ("mount namespace", "call('unshare', 0x20000)", "EPERM"),
    ("io_uring", "syscall(425, 8, ctypes.create_string_buffer(256))", "ENOSYS"),
    ("set the clock", "call('clock_settime', 0, ctypes.create_string_buffer(16))", "EPERM"),
    ("write /", "open('/new', 'w')", "EROFS"),
    ("write /usr", "open('/usr/bin/new', 'w')", "EROFS"),
    ("write /opt", "open('/opt/roost/boot.py', 'a')", "EACCES"),
    ("write /var/tmp", "open('/var/tmp/new', 'w')", "EROFS"),
    ("rewrite the identity", "open('/roost/id/workspace.json', 'w')", "EROFS"),
    ("replace the identity", "os.rename('/workspace/boots', '/roost/id/workspace.json')", "EXDEV"),
    ("remove the identity", "os.unlink('/roost/id/workspace.json')", "EROFS"),
    ("second identity", "open('/roost/id/new', 'w')", "EROFS"),
    ("rewrite the keys", "open('/roost/keys/keys.json', 'w')", "EROFS"),
    ("second keys", "open('/roost/keys/new', 'w')", "EROFS"),
    ("write a kernel setting", "open('/proc/sys/kernel/domainname', 'w')", "EROFS"),
    ("run from /tmp", "open('/tmp/x', 'w').close(); os.chmod('/tmp/x', 0o700); "
     "os.execv('/tmp/x', ['x'])", "EACCES"),
    ("set-user-id shell", "open('/workspace/sh', 'w').close(); os.chmod('/workspace/sh', 0o4755);"
     "call('chown', b'/workspace/sh', 0, -1)", "EPERM"),
]  # fmt: skip
ALLOWED = {
    "internet socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "local socket": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "write the workspace": "open('/workspace/mine', 'w')",
    "write /tmp": "open('/tmp/mine', 'w')",
}

# socket(40, SOCK_STREAM, 0) by way of `int 0x80` and socketcall, the door of 32-bit programs. Its
# arguments must lie below 4 GiB, so code and arguments share a page that MAP_32BIT puts there.
THIRTY_TWO_BIT = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, 4096, 7, 0x22 | 0x40, -1, 0)
code = bytes.fromhex("53 b8 66000000 bb 01000000 b9") + struct.pack("<I", page + 256)
code += bytes.fromhex("cd80 5b c3")
ctypes.memmove(page, code, len(code))
ctypes.memmove(page + 256, struct.pack("<III", 40, 1, 0), 12)
print(ctypes.CFUNCTYPE(ctypes.c_int)(page)())
"""


def test_what_is_refused(acme_box):
    codes = {name: code for name, code, _ in REFUSED}

    assert acme_box.ask(ATTEMPTS, json.dumps(codes)) == {name: error for name, _, error in REFUSED}


def test_what_is_allowed(acme_box):
    assert acme_box.ask(ATTEMPTS, json.dumps(ALLOWED)) == dict.fromkeys(ALLOWED, "OK")


@pytest.mark.parametrize("who", ["1", "self"], ids=["main process", "a program run inside"])
def test_no_capability_no_new_privilege_a_filter(acme_box, who):
    status = acme_box.run("cat", f"/proc/{who}/status").said
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert {found[name] for name in sets} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    assert found["Uid"].split() == ["10001"] * 4
    assert found["Gid"].split() == ["10001"] * 4


def test_the_32_bit_door_is_closed(acme_box):
    """Through its socketcall a filter of `socket` alone is walked around."""
    assert platform.machine() == "x86_64", "Write this test for your processor's second ABI."
    free = subprocess.run(
        [sys.executable, "-c", THIRTY_TWO_BIT],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(free.stdout) > 2, "the probe itself does not work"

    inside = acme_box.python(THIRTY_TWO_BIT)

    assert inside.code == 128 + 31, inside  # SIGSYS


def test_no_other_process_and_no_environment_of_ours_is_seen(acme_box):
    seen = acme_box.ask(
        "import json, os\n"
        "pids = [pid for pid in os.listdir('/proc') if pid.isdigit()]\n"
        "print(json.dumps([open(f'/proc/{pid}/cmdline').read() for pid in pids]))"
    )

    assert any("server.py" in line for line in seen)
    assert not any(word in line for line in seen for word in ("dockerd", "postgres", "pytest"))
    server = next(line.split()[1] for line in acme_box.run("ps", "aux").said.splitlines()
                  if "server.py" in line)  # fmt: skip
    environment = acme_box.run("cat", f"/proc/{server}/environ").said
    assert "HOME=/workspace" in environment
    assert "ROOST_" not in environment


FORK_BOMB = """
import errno, os, time
made = 0
try:
    while True:
        if not os.fork():
            time.sleep(5)
            os._exit(0)
        made += 1
except OSError as error:
    print(made, errno.errorcode[error.errno], flush=True)
os.kill(0, 9)
"""


def test_a_fork_bomb_ends_at_the_limit_of_processes(acme_box):
    limit = CATALOG["hermes"].pids
    before = acme_box.inspect()["State"]["StartedAt"]

    said = acme_box.python(FORK_BOMB).said

    made, error = said.split()
    assert error == errno.errorcode[errno.EAGAIN]
    assert limit - 16 < int(made) < limit
    assert subprocess.run(["true"], check=True).returncode == 0  # the node can still fork
    wait_for(lambda: processes(acme_box) < 8)
    assert acme_box.inspect()["State"]["StartedAt"] == before


ORPHANS = """
import os, time
for _ in range(200):
    child = os.fork()
    if not child:
        if not os.fork():
            time.sleep(0.5)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_orphans_are_reaped(acme_box):
    """Two hundred children whose parent died before them leave nothing behind."""
    assert acme_box.python(ORPHANS).code == 0

    wait_for(lambda: processes(acme_box) < 8)


def test_two_hundred_orphans_at_once_stay_within_the_limit_and_end_with_the_agent(
    node, tiny, acme_box
):
    """R13: they belong to its group of processes, so a stop ends them all."""
    network = network_of(INSTALLATION, POOL, ACME)
    with box(node, tiny, network, host=3, memory_mb=1024) as made:
        assert made.python(LASTING_ORPHANS).code == 0
        assert processes(made) > 200
        group = pids_of(made)
        more = made.python("import os; [os.fork() for _ in range(9)]").said  # 512, were it to go on
        assert "Resource temporarily unavailable" in more  # the limit holds

        node.engine.ensure_stopped(made.name, 2)

        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in group), 10)
        assert not node.engine.inspect(made.name).up
    assert acme_box.run("true").code == 0


LASTING_ORPHANS = """
import os, signal, time
for _ in range(200):
    if not os.fork():
        if not os.fork():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.setsid()
            time.sleep(300)
        os._exit(0)
    os.wait()
"""


def pids_of(box) -> list[int]:
    """On the host."""
    shown = box.backend.engine._api.top(box.name, ps_args="-eo pid")
    return [int(row[0]) for row in shown["Processes"]]


def processes(box) -> int:
    return len(box.run("ps", "ax").said.splitlines())


def test_a_memory_hog_dies_alone(node, tiny, acme_box):
    """The main process itself takes all: killed, told as out of memory, started again."""
    began = time.monotonic()
    with box(node, tiny, network_of(INSTALLATION, POOL, ACME), host=3, memory_mb=64) as hog:
        hog.run("sh", "-c", "echo hog > /workspace/hog")
        node.engine._api.update_container(hog.name, restart_policy={"Name": "no"})
        server = hog.run("pgrep", "-f", "server.py").said.split()[0]
        assert hog.run("sh", "-c", f"kill -USR1 {server}").code == 0
        wait_for(lambda: not node.engine.inspect(hog.name).up, 20)
        seen = node.engine.inspect(hog.name)
        assert (seen.state, seen.exit_code, seen.out_of_memory) == ("exited", 137, True)

        node.engine.ensure_started(hog.name)
        until_up(hog, boots=2)
        assert hog.run("cat", "/workspace/boots").said.splitlines() == ["boot", "boot"]
    assert acme_box.run("true").code == 0
    assert time.monotonic() - began < 60


WORST = """
import os, threading
def spin():
    while True:
        os.write(2, b"x" * 65536)
for _ in range(3):
    threading.Thread(target=spin, daemon=True).start()
kept = []
for _ in range(400):
    if not os.fork():
        while True:
            kept.append(os.urandom(4096))
"""


def test_while_one_does_its_worst_its_neighbour_answers(node, tiny, acme_box, record_property):
    """Processes, memory, processor and log at once. Measured, and every answer is right."""
    url = f"http://{acme_box.address}:8642/health"
    before = acme_box.run("cat", "/workspace/boots").said
    with box(node, tiny, network_of(INSTALLATION, POOL, ACME), host=3) as hog:
        worst = threading.Thread(target=lambda: hog.python(WORST))
        worst.start()
        began = time.monotonic()
        answers = [httpx.get(url, timeout=10, trust_env=False).status_code for _ in range(100)]
        record_property("seconds_for_100_answers", time.monotonic() - began)
        node.engine.ensure_removed(hog.name)
        worst.join()

    assert answers == [200] * 100
    assert acme_box.run("cat", "/workspace/boots").said == before


def test_temporary_files_are_bounded(acme_box):
    """/tmp and /dev/shm are memory: full is ENOSPC there, not a dead agent."""
    fill = (
        "import errno, os, sys\n"
        "try:\n    f = open(sys.argv[1], 'wb')\n    while True: f.write(b'x' * 1048576)\n"
        "except OSError as error: print(errno.errorcode[error.errno])\n"
        "os.unlink(sys.argv[1])"
    )

    assert acme_box.python(fill, "/dev/shm/x").said.split() == ["ENOSPC"]
    assert acme_box.python(fill, "/run/agent/x").said.split() == ["ENOSPC"]
