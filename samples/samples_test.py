#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samples_test.py - do the small samples do what they say?

    samples_test.py DIRECTORY

DIRECTORY is where the programs are. Exits 0, or 1 on a failure.
"""

import os
import pty
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import children
from children import check

GUARD_S = 100  # against hanging; nothing is measured by it
BIN = sys.argv[1]
UNDER_TSAN = os.path.basename(os.path.dirname(BIN.rstrip("/"))) == "tsan"


def runs(name, pattern):
    """It ends by itself, well, and says what it should."""
    done = subprocess.run([os.path.join(BIN, name)], capture_output=True,
                          text=True, timeout=GUARD_S)
    check(done.returncode == 0 and not done.stderr, name, done)
    check(re.search(pattern, done.stdout), name, "said", done.stdout)


def start(*words):
    process = children.start([os.path.join(BIN, words[0]), *words[1:]])
    line = process.stdout.readline()
    found = re.match(r"listening on .*?(\d+)$", line)
    if found:
        return process, int(found.group(1))
    errors = process.stderr.read()
    check("io_uring" in errors, words, "said", line, errors)
    print("skipped:", errors.strip())
    raise LookupError


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), GUARD_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def exactly(client, count):
    data = b""
    while len(data) < count:
        more = client.recv(count - len(data))
        check(more, "ended after", len(data), "of", count)
        data += more
    return data


def echoes(provider):
    """Bytes come back, in order, on many connections; then a good end."""
    try:
        server, port = start("echo_server", "0", "2", provider)
    except LookupError:
        return  # no io_uring on this machine
    clients = [connect(port) for _ in range(50)]
    for length in (1, 100, 20000, 1):
        pieces = [bytes([i]) * length for i in range(len(clients))]
        for client, piece in zip(clients, pieces):
            client.sendall(piece)
        for client, piece in zip(clients, pieces):
            check(exactly(client, length) == piece)
    for client in clients[::2]:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        client.close()
    for client in clients[1::2]:
        client.sendall(b"still there")
        check(exactly(client, 11) == b"still there")
    last = clients[1]
    last.sendall(b"the end")
    last.shutdown(socket.SHUT_WR)
    check(exactly(last, 7) == b"the end" and last.recv(1) == b"")
    server.send_signal(signal.SIGTERM)
    check(clients[3].recv(1) == b"", "a connection outlived its server")
    _, errors = server.communicate(timeout=GUARD_S)
    check(server.returncode == 0 and not errors, "exit status",
          server.returncode, errors)


def begins(*words):
    """How it ends that cannot begin."""
    return subprocess.run([os.path.join(BIN, words[0]), *words[1:]],
                          capture_output=True, text=True, timeout=GUARD_S)


def servers_that_cannot_begin_say_so():
    """A port that somebody has, and words that are none, end it with an error."""
    with socket.socket() as tcp, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        for words in (("echo_server", str(tcp.getsockname()[1]), "2", "threads"),
                      ("udp_echo", str(udp.getsockname()[1]))):
            done = begins(*words)
            if "io_uring" in done.stderr:
                continue  # no io_uring on this machine
            check(done.returncode == 1 and not done.stdout and
                  "Address already in use" in done.stderr, words, done)
    for words in (("echo_server", "65536"), ("echo_server", "-1"),
                  ("echo_server", "x"), ("echo_server", "0", "65"),
                  ("echo_server", "0", "1", "ringo"),
                  ("echo_server", "0", "1", "ring", "more"),
                  ("udp_echo", "65536"), ("udp_echo", "7x"),
                  ("udp_echo", "0", "more")):
        done = begins(*words)
        check(done.returncode == 2 and done.stderr.startswith("usage"), words,
              done)


def worker_lease():
    """The holder's thread outlives the shrink; the wrong order is noticed."""
    runs("worker_lease", r"(?s)with a lease.*1 worker, 2 threads.*"
         r"100 commands drained, the thread is the same.*queue destroyed.*"
         r"lease released.*second worker has ended.*shut down")
    # It gives up in the middle: its other thread is not awaited.
    options = os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"
    done = subprocess.run([os.path.join(BIN, "worker_lease"), "early"],
                          capture_output=True, text=True, timeout=GUARD_S,
                          env=dict(os.environ, TSAN_OPTIONS=options))
    check(done.returncode == 1 and "before the queue" in done.stderr, done)


def datagrams():
    """Each datagram comes back whole, the empty one too; then a good end."""
    try:
        server, port = start("udp_echo", "0")
    except LookupError:
        return  # no io_uring on this machine
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(GUARD_S)
    client.connect(("127.0.0.1", port))
    for length in (0, 1, 1000, 60000, 0, 3):
        piece = os.urandom(length)
        client.send(piece)
        check(client.recv(65536) == piece, "datagram of", length)
    server.send_signal(signal.SIGTERM)
    _, errors = server.communicate(timeout=GUARD_S)
    check(server.returncode == 0 and not errors, "exit status",
          server.returncode, errors)


def supervise(*words):
    return children.start([os.path.join(BIN, "supervise"), *words])


def says(process, text):
    """Reads what it says until a line has it."""
    for line in process.stdout:
        if text in line:
            return
    check(False, "it ended and has not said", text)


def supervises():
    """Failures are started again, so often; signals are handed on."""
    # Twice it fails, then it is well: the file says how often it ran.
    with tempfile.TemporaryDirectory() as directory:
        runs_file = os.path.join(directory, "runs")
        script = f'echo x >>{runs_file}; test $(wc -l <{runs_file}) -ge 3'
        keeper = supervise("--pause-ms", "1", "sh", "-c", script)
        said, errors = keeper.communicate(timeout=GUARD_S)
        check(keeper.returncode == 0 and not errors, keeper.returncode, errors)
        check(said.count("sh is ") == 3, said)
        check("sh again in 1 ms" in said and "sh again in 2 ms" in said, said)
    # The limit: once, and twice more; then its status is ours.
    keeper = supervise("--restarts", "2", "--pause-ms", "1", "sh", "-c",
                       "exit 7")
    said, _ = keeper.communicate(timeout=GUARD_S)
    check(keeper.returncode == 7 and said.count("sh is ") == 3, said)
    # A crash is a failure, too.
    keeper = supervise("--restarts", "0", "sh", "-c", "kill -9 $$")
    said, _ = keeper.communicate(timeout=GUARD_S)
    check(keeper.returncode == 128 + 9 and "signal 9" in said, said)
    # ThreadSanitizer keeps a signal back until the thread that was chosen for it
    # calls something: the main thread waits in the kernel and never does.
    if UNDER_TSAN:
        print("supervise without signals: not under ThreadSanitizer")
        return
    # Two of them get the signal, and end each in its way.
    # One write each, so no line is torn; blocked, so none comes too early.
    waits = ("import os, signal, sys\n"
             "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
             "os.write(1, b'ready\\n')\n"
             "signal.sigwait([signal.SIGTERM])\n"
             "sys.exit({})")
    keeper = supervise(sys.executable, "-c", waits.format(3), "--",
                       sys.executable, "-c", waits.format(0))
    says(keeper, "ready")
    says(keeper, "ready")
    keeper.send_signal(signal.SIGTERM)
    said, _ = keeper.communicate(timeout=GUARD_S)
    check(keeper.returncode == 3 and "status 3" in said and
          "status 0" in said and "again" not in said, said)
    # In a pause nothing runs, and it ends at once.
    keeper = supervise("--pause-ms", "3600000", "false")
    says(keeper, "again")
    keeper.send_signal(signal.SIGINT)
    keeper.communicate(timeout=GUARD_S)
    check(keeper.returncode == 128 + 2, keeper.returncode)
    keeper = supervise("no-such-program-anywhere")
    _, errors = keeper.communicate(timeout=GUARD_S)
    check(keeper.returncode == 127 and "cannot start" in errors, errors)


def resolves():
    """A numeric name becomes its address; no name is an error."""
    for words, wanted in ((("127.0.0.1", "80"), "127.0.0.1:80\n"),
                          (("::1", "443"), "[::1]:443\n")):
        done = subprocess.run([os.path.join(BIN, "resolve"), *words],
                              capture_output=True, text=True, timeout=GUARD_S)
        check(done.returncode == 0 and done.stdout == wanted, words, done)
    done = subprocess.run([os.path.join(BIN, "resolve"), "127.0.0.1", "none"],
                          capture_output=True, text=True, timeout=GUARD_S)
    check(done.returncode == 1 and not done.stdout and done.stderr, done)


def copy(*words, **options):
    return subprocess.run([os.path.join(BIN, "copy"), *words],
                          capture_output=True, text=True, timeout=GUARD_S,
                          **options)


def copies(*options):
    """A copy is the same bytes, whatever the length; what cannot be is said."""
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source")
        target = os.path.join(directory, "target")
        for length in (0, 1, 1 << 18, (5 << 18) + 17):
            data = os.urandom(length)
            with open(source, "wb") as file:
                file.write(data)
            os.chmod(source, 0o640)
            done = copy("--verify", *options, source, target)
            if done.returncode and "io_uring" in done.stderr:
                print("skipped:", done.stderr.strip())
                return  # no io_uring on this machine
            check(done.returncode == 0 and not done.stderr, length, done)
            with open(target, "rb") as file:
                check(file.read() == data, "copy of", length)
        check(os.stat(target).st_mode & 0o777 == 0o640 & ~umask())
        for words, said in (
                ((os.path.join(directory, "none"), target),
                 r"cannot open '.*none': No such file"),
                ((source, source), r"cannot copy to '.*': it is the source"),
                ((directory, target), r"cannot copy '.*': not a regular"),
                ((source, directory), r"cannot create '.*': Is a directory"),
                ((source, "/dev/full"), r"not a regular file"),
                ((source, os.path.join(directory, "no", "way")),
                 r"cannot create '.*way': No such file"),
                ((source,), r"^usage")):
            done = copy(*options, *words)
            check(done.returncode != 0 and re.search(said, done.stderr),
                  words, done)
        # What is out when a write fails is cancelled, and no error of its own.
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 17, 3 << 17))

        done = copy(*options, source, target, preexec_fn=small)
        check(done.returncode == 1 and re.fullmatch(
            r"copy: cannot write '.*target': File too large\n", done.stderr), done)
        with open(source, "rb") as file:
            check(file.read() == data, "the source was touched")


def copies_what_grows(*options):
    """A copy is what the file was at some time, and nothing is missing inside."""
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source")
        target = os.path.join(directory, "target")
        for number in range(10):
            with open(source, "wb") as file:
                file.write(b"x" * 100000)
            over = threading.Event()

            def grow():
                with open(source, "ab", buffering=0) as file:
                    while not over.is_set() and file.tell() < 1 << 26:
                        file.write(b"y" * 700001)
                        select.select([], [], [], 0.0004)  # let it be overtaken

            grower = threading.Thread(target=grow)
            grower.start()
            done = copy(*options, source, target)
            over.set()
            grower.join()
            if done.returncode and "io_uring" in done.stderr:
                return  # no io_uring on this machine
            check(done.returncode == 0 and not done.stderr, done)
            with open(source, "rb") as file, open(target, "rb") as copied:
                data = copied.read()
                check(len(data) >= 100000 and file.read(len(data)) == data,
                      "copy", number, "of", len(data))


def umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def shows_progress():
    """On a terminal there is a bar, and it gets to its end."""
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source")
        with open(source, "wb") as file:
            file.truncate(3 << 20)
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [os.path.join(BIN, "copy"), "--threads", "--verify", source,
             os.path.join(directory, "target")], stderr=theirs)
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # how a terminal ends
            pass
        os.close(ours)
        check(process.wait(GUARD_S) == 0, said)
        check(re.search(rb"copying +\[#+ +\]", said) and
              re.search(rb"copying +\[#+\] 100 %.*verifying.*100 %", said,
                        re.DOTALL), said)


run = children.run
run(runs, "hello", r"^hello, world")
run(runs, "ping_pong", r"\d+ ns each")
run(worker_lease)
run(runs, "sharded_counter", r"0 failed, total 499500")
run(runs, "named", r"^adder adds up to 100\nthe sum is 5050\n$")
run(runs, "supervised", r"(?s)^42 / 6: answered\n42 / 0: failed\n"
    r"42 / 6: answered\n.*gave up: fault, dividing 42")
run(supervises)
run(echoes, "ring")
run(echoes, "epoll")
run(echoes, "threads")
run(datagrams)
run(servers_that_cannot_begin_say_so)
run(resolves)
run(copies)
run(copies, "--threads")
run(copies_what_grows, "--verify")
run(copies_what_grows, "--threads")
run(shows_progress)
