"""Programs that try to break out, and what each of them may print when it is held."""

from collections.abc import Mapping
from textwrap import dedent

ATTACKS: Mapping[str, str] = {
    name: dedent(source)
    for name, source in {
        "fork bomb": """
            import os
            while True:
                try: os.fork()
                except OSError: break
        """,
        "thread bomb": """
            import threading, time
            threading.stack_size(32768)
            try:
                while True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            except (RuntimeError, MemoryError): pass
        """,
        "memory bomb": "x = []\nwhile True: x.append(bytearray(64 << 20))",
        "infinite output": """
            while True:
                try: print("x" * 100_000)
                except OSError: pass
        """,
        "infinite stderr": "import os\nwhile True: os.write(2, b'x' * 100_000)",
        "busy loop": "while True: pass",
        "sleep": "import time\ntime.sleep(600)",
        "daemon": """
            import os, time
            try:
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0: time.sleep(600)
                    os._exit(0)
            except OSError: pass
        """,
        "group of the template": """
            import os, signal
            try: os.setpgid(0, os.getpgid(os.getppid()))
            except OSError: pass
            else: os.kill(0, signal.SIGKILL)
        """,
        "stdout held open": """
            import os, time
            try:
                if os.fork() == 0: time.sleep(600)
            except OSError: pass
            print("held", flush=True)
        """,
        "symlinks": """
            import os
            for name in ("out.txt", "wanted"):
                try: os.symlink("SECRET_FILE", name)
                except OSError: pass
            try: os.link("SECRET_FILE", "hard")
            except OSError: pass
            for name in ("out.txt", "hard"):
                try: print(open(name).read())
                except OSError: pass
        """,
        "fifo": "import os\ntry: os.mkfifo('wanted')\nexcept OSError: pass",
        "kill everybody": """
            import os, signal
            for target in (EVERYBODY, 1, os.getppid(), CELL, KEEPER, JUDGE):
                for number in (signal.SIGKILL, signal.SIGSTOP):
                    try: os.kill(target, number)
                    except OSError: pass
        """,
        "choke the judge": """
            import os, resource
            for pid in (1, os.getppid(), JUDGE):
                for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
                    try: resource.prlimit(pid, limit, (0, 0))
                    except OSError: pass
                try: os.sched_setaffinity(pid, {0})
                except OSError: pass
        """,
        "look into the judge": """
            import os
            for pid in (1, os.getppid(), JUDGE):
                for name in ("environ", "mem", "fd/0", "root/etc/passwd"):
                    try: print(open(f"/proc/{pid}/{name}", "rb").read(4096))
                    except (OSError, ValueError): pass
        """,
        "inodes": """
            for number in range(10**9):
                try: open(f"file{number}", "w").close()
                except OSError: break
        """,
        "full disk": """
            for number in range(10**9):
                try: open(f"file{number}", "wb").write(bytes(1 << 20))
                except OSError: break
        """,
        "deep folders": """
            import os
            try:
                while True:
                    os.mkdir("d", 0o700); os.chdir("d"); open("f", "w").close()
            except OSError: pass
        """,
        "locked folders": "import os\ntry: os.mkdir('a'); os.mkdir('a/b'); os.mkdir('c', 0)\nexcept OSError: pass",
        "descriptors": "import os\ntry:\n    while True: os.dup(0)\nexcept OSError: pass",
        "pipes": "import os\ntry:\n    while True: os.write(os.pipe()[1], b'x' * 60000)\nexcept OSError: pass",
        "huge argv": "import os\ntry: os.execv('/bin/true', ['x' * 100000] * 10000)\nexcept OSError: pass",
        "exec": """
            import os
            try: os.execv("/bin/sh", ["sh", "-c", "sleep 600 & cat SECRET_FILE"])
            except OSError: pass
        """,
        "signals ignored": """
            import signal
            for number in range(1, 65):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            while True: pass
        """,
        "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        "alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nsignal.pause()",
        "zombies": """
            import os
            try:
                while True:
                    if os.fork() == 0: os._exit(0)
            except OSError: pass
        """,
        "shared memory": """
            import ctypes
            libc = ctypes.CDLL(None)
            libc.shmget(4711, 1 << 20, 0o1666)
            libc.memfd_create(b"x", 0)
        """,
        "no more walls": """
            import ctypes
            libc = ctypes.CDLL(None)
            for flags in (0x10000000, 0x20000, 0x7e020000): libc.unshare(flags)
            libc.chroot(b"/"); libc.setuid(0); libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
            libc.ptrace(16, JUDGE, 0, 0)
        """,
    }.items()
}
"""Judged by what is true after them: nothing of them is left, and the next program runs as if they had not been."""

SEARCH = """
import os
try: pids = [name for name in os.listdir("/proc") if name.isdecimal()]
except OSError: pids = ["1", str(os.getppid())]
places = ["SECRET_FILE", "/etc/shadow"]
for pid in ["self", "JUDGE", *pids]:
    places += [f"/proc/{pid}/{name}" for name in ("environ", "cmdline", "cwd/secret.txt", "root/SECRET_FILE")]
for place in places:
    try: print(open(place, "rb").read(100_000))
    except OSError: pass
print(dict(os.environ))
"""
"""Prints whatever may have a secret in it."""

CONNECT = """
import socket
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", PORT)),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\\0ABSTRACT"),
    (socket.AF_UNIX, socket.SOCK_STREAM, "SOCKET_FILE"),
):
    try:
        with socket.socket(family, kind) as out:
            out.settimeout(2); out.connect(address); out.sendall(b"escaped")
        print("escaped", family, kind)
    except OSError: pass
"""

WRITE = """
import os
for place in ("OUTSIDE", "OUTSIDE/kept", "OUTSIDE/new", "/tmp/NAME", "/var/tmp/NAME", "/dev/shm/NAME", "/usr/NAME"):
    for action in (
        lambda: open(place, "w").write("escaped"),
        lambda: open(place, "r+").write("escaped"),
        lambda: os.truncate(place, 0),
        lambda: os.chmod(place, 0o777),
        lambda: os.utime(place, (0, 0)),
        lambda: os.mkdir(place + "/folder"),
        lambda: os.rename(place, place + ".moved"),
        lambda: os.unlink(place),
    ):
        try: action()
        except OSError: pass
"""
