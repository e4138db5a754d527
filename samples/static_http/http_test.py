#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""http_test.py - does static_http serve files as HTTP/1.1 says?

    http_test.py SERVER [OPTION ...]

Starts the server on a directory of its own, with the options, and looks at it
with curl, with plain sockets, and, if they are there, with wrk and ab. Exits 0,
1 on a failure, or 77 when the server cannot run here.
"""

import atexit
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import children
from children import check

GUARD_S = 100  # against hanging; nothing is measured by it
# Times that pass on a busy machine, where a test is not about them.
PATIENT = [f"--{name}-ms={GUARD_S * 1000}"
           for name in ("grace", "header", "idle", "stall")]
SHORT_S = 0.3  # one that must pass
ROOT = tempfile.mkdtemp(prefix="ringmail-http-")
FILES = {
    "index.html": b"<p>home\n",
    "a.txt": b"0123456789",
    "empty": b"",
    "medium.bin": random.Random(1).randbytes(60000),
    "large.bin": random.Random(2).randbytes(5000000),
    "sub/index.html": b"<p>sub\n",
    "sp ace.css": b"p {}\n",
    ".hidden": b"secret",
}


class Server:
    def __init__(self, *options):
        self.process = children.start(
            [sys.argv[1], "--port", "0", *PATIENT, *sys.argv[2:], *options,
             ROOT + "/www"])
        line = self.process.stdout.readline()
        found = re.match(r"listening on port (\d+)$", line)
        if not found:
            errors = self.process.stderr.read()
            if "io_uring" in errors:
                print("skipped:", errors.strip())
                sys.exit(77)
            check(False, "it said", line, errors)
        self.port = int(found.group(1))
        self.base = self.descriptors()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), GUARD_S)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def established(self):
        """How many connections it has not closed."""
        with open(f"/proc/{self.process.pid}/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
        return sum(row[1].endswith(":%04X" % self.port) and row[3] == "01"
                   for row in rows)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=GUARD_S)
        check(self.process.returncode == 0 and not errors, "exit status",
              self.process.returncode, "said", out, "errors", errors)


class Reader:
    """Answers from a connection, one after the other."""

    def __init__(self, client):
        self.client, self.bytes = client, b""

    def more(self):
        got = self.client.recv(65536)
        self.bytes += got
        return got

    def answer(self, head=False):
        """Status, fields in lower case, body; None at the end."""
        while b"\r\n\r\n" not in self.bytes:
            if not self.more():
                check(not self.bytes, "it ended inside", self.bytes)
                return None
        text, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        lines = text.decode().split("\r\n")
        fields = dict(l.lower().split(": ", 1) for l in lines[1:])
        status = int(lines[0].split(" ")[1])
        length = 0
        if not head and status != 304:
            length = int(fields["content-length"])
        while len(self.bytes) < length:
            check(self.more(), "it ended inside a body")
        body, self.bytes = self.bytes[:length], self.bytes[length:]
        check("date" in fields and "server" in fields, fields)
        return status, fields, body


def get(path, *fields, method="GET", version="1.1", host="Host: x"):
    lines = [f"{method} {path} HTTP/{version}", *([host] if host else []), *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def ask(server, data, head=False):
    """One answer on a connection of its own."""
    with server.connect() as client:
        client.sendall(data)
        return Reader(client).answer(head)


def curl(server, path, *options):
    done = subprocess.run(
        ["curl", "-s", "--path-as-is", "-D", "-", *options, server.url(path)],
        capture_output=True, timeout=GUARD_S)
    check(done.returncode == 0, path, options, done)
    head, body = done.stdout.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    fields = dict(l.lower().split(": ", 1) for l in lines[1:])
    return int(lines[0].split(" ")[1]), fields, body


def files_are_served(server):
    for name, body in FILES.items():
        status, fields, got = curl(server, "/" + name.replace(" ", "%20"))
        check(status == (404 if name[0] == "." else 200), name, status)
        check(status == 404 or got == body, name, len(got), "bytes")
    check(curl(server, "/")[2] == FILES["index.html"])
    check(curl(server, "/sub/")[2] == FILES["sub/index.html"])
    check(curl(server, "/a.txt?x=y")[1]["content-type"] ==
          "text/plain; charset=utf-8")
    check(curl(server, "/sp%20ace.css")[1]["content-type"].startswith("text/css"))
    status, fields, _ = curl(server, "/sub")
    check(status == 301 and fields["location"] == "/sub/", status, fields)
    check(curl(server, "/none")[0] == 404 and curl(server, "/a.txt/x")[0] == 404)
    done = subprocess.run(["curl", "-sI", server.url("/large.bin")],
                          capture_output=True, timeout=GUARD_S)
    check(done.returncode == 0 and done.stdout.startswith(b"HTTP/1.1 200") and
          b"Content-Length: %d\r\n" % len(FILES["large.bin"]) in done.stdout)
    check(curl(server, "/a.txt", "-d", "x=y")[0] == 405)
    status, fields, _ = curl(server, "/a.txt", "-X", "DELETE")
    check(status == 405 and fields["allow"] == "get, head", fields)


def nothing_outside_is_served(server):
    for path in ("/../secret", "/sub/../../secret", "/%2e%2e/secret",
                 "/..%2fsecret", "/link_out", "/link_up/secret", "/.hidden",
                 "/sub/..%2f..%2f..%2fetc/passwd", "//etc/passwd"):
        status, _, body = ask(server, get(path))
        check(status == 404 and b"SECRET" not in body and b"root:" not in body,
              path, status)
    check(ask(server, get("/link_in"))[2] == FILES["a.txt"])
    check(ask(server, get("/a%00.txt"))[0] == 400)
    check(ask(server, get("/fifo"))[0] == 403)


def ranges(server):
    for path, whole in (("/a.txt", FILES["a.txt"]),
                        ("/medium.bin", FILES["medium.bin"]),
                        ("/large.bin", FILES["large.bin"])):
        size = len(whole)
        for text, first, last in (("0-0", 0, 0), ("2-5", 2, 5), ("3-", 3, size - 1),
                                  ("-4", size - 4, size - 1),
                                  (f"5-{size * 2}", 5, size - 1)):
            status, fields, body = curl(server, path, "-r", text)
            check(status == 206 and body == whole[first:last + 1], path, text)
            check(fields["content-range"] == f"bytes {first}-{last}/{size}")
        status, fields, body = curl(server, path, "-r", f"{size}-")
        check(status == 416 and fields["content-range"] == f"bytes */{size}")
        check(curl(server, path, "-r", "0-1,4-5")[::2] == (200, whole))
    tag = curl(server, "/a.txt")[1]["etag"]
    date = ask(server, get("/a.txt"))[1]["last-modified"]
    part = ("-r", "1-2", "-H")
    check(curl(server, "/a.txt", *part, f"If-Range: {tag}")[0] == 206)
    check(curl(server, "/a.txt", *part, 'If-Range: "other"')[0] == 200)
    check(curl(server, "/a.txt", *part, f"If-Range: {date}")[0] in (200, 206))


def what_a_client_has_is_not_sent(server):
    fields = curl(server, "/a.txt")[1]
    tag = fields["etag"]
    date = subprocess.run(
        ["curl", "-sI", server.url("/a.txt")], capture_output=True,
        text=True).stdout.split("Last-Modified: ")[1].split("\n")[0]
    old = "Sun, 06 Nov 1994 08:49:37 GMT"
    for header, status in ((f"If-None-Match: {tag}", 304),
                           (f'If-None-Match: "x", W/{tag}', 304),
                           ("If-None-Match: *", 304),
                           ("If-None-Match: * \t", 304),
                           (f'If-None-Match: "x"\r\nIf-None-Match: {tag}', 304),
                           (f'If-None-Match: {tag}\r\nIf-None-Match: "x"', 304),
                           (f"If-Modified-Since: {date} ", 304),
                           ('If-None-Match: "x"', 200),
                           (f"If-Modified-Since: {date}", 304),
                           (f"If-Modified-Since: {old}", 200),
                           ("If-Modified-Since: nonsense", 200)):
        got = ask(server, get("/a.txt", header))
        check(got[0] == status and (status == 200) == (got[2] != b""), header, got)
    # A body that nobody wants has trailers that nobody heeds.
    got = ask(server, get("/a.txt", "Transfer-Encoding: chunked") +
              f"3\r\nxyz\r\n0\r\nIf-None-Match: {tag}\r\n\r\n".encode())
    check(got[0] == 200, got)
    got = ask(server, get("/a.txt", "Expect: 100-continue"))
    check(got[0] == 200, got)
    # The tag decides alone where there is one.
    got = ask(server, get("/a.txt", 'If-None-Match: "x"',
                          f"If-Modified-Since: {date}"))
    check(got[0] == 200)


def pipelines_are_answered_in_order(server):
    names = ["/a.txt", "/", "/none", "/medium.bin", "/large.bin", "/empty", "/sub"]
    order = [names[i % len(names)] for i in range(70)]
    bodies = {"/a.txt": FILES["a.txt"], "/": FILES["index.html"],
              "/medium.bin": FILES["medium.bin"], "/empty": b"",
              "/large.bin": FILES["large.bin"]}
    with server.connect() as client:
        client.sendall(b"".join(get(p) for p in order) +
                       get("/a.txt", "Connection: close") + get("/"))
        reader = Reader(client)
        for path in order:
            status, _, body = reader.answer()
            check(path not in bodies or (status == 200 and body == bodies[path]),
                  path, status)
        status, fields, _ = reader.answer()
        check(status == 200 and fields["connection"] == "close", fields)
        check(reader.answer() is None)
    # A byte at a time, with a body that nobody wants, and by an old client.
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = get("/a.txt", "Content-Length: 3") + b"xyz" + b"\r\n" + get("/")
        for i in range(len(data)):
            client.sendall(data[i:i + 1])
        reader = Reader(client)
        check(reader.answer()[2] == FILES["a.txt"])
        check(reader.answer()[2] == FILES["index.html"])
    with server.connect() as client:
        client.sendall(get("/", "Connection: keep-alive", version="1.0", host=""))
        reader = Reader(client)
        check(reader.answer()[1]["connection"] == "keep-alive")
        client.sendall(get("/", version="1.0", host=""))
        check(reader.answer()[1]["connection"] == "close")
        check(reader.answer() is None)


def what_is_asked_again_is_answered_alike(server):
    tag = curl(server, "/a.txt")[1]["etag"]
    text, index = FILES["a.txt"], FILES["index.html"]
    plan = [(get("/a.txt"), 200, text), (get("/a.txt"), 200, text),
            (get("/a.txt", f"If-None-Match: {tag}"), 304, b""),
            (get("/a.txt", "Range: bytes=0-0"), 206, text[:1]),
            (get("/a.txt?q"), 200, text), (get("/./a.txt"), 200, text),
            (get("/%61.txt"), 200, text), (get("/a.tx"), 404, None),
            (get("/a.txt"), 200, text), (get("/"), 200, index),
            (get("/a.txt", version="1.0", *["Connection: keep-alive"]), 200,
             text), (get("/a.txt"), 200, text)]
    with server.connect() as client:
        client.sendall(b"".join(data for data, _, _ in plan))
        reader = Reader(client)
        for data, status, body in plan:
            got = reader.answer()
            check(got[0] == status and body in (None, got[2]), data, got)
            check("date" in got[1] and got[1].get("connection") != "close", got)
            check(status not in (200, 304) or "etag" in got[1], got)


def bad_requests_end_it(server):
    long = "x" * 9000
    for data, status in ((get("/", f"X: {long}"), 431),
                         (get("/" + "y" * 3000), 414),
                         (get("/", "Content-Length: 70000"), 413),
                         (get("/", "Content-Length: 3", "Expect: 100-continue"),
                          417),
                         (get("/", "Transfer-Encoding: chunked",
                              "Expect: 100-continue"), 417),
                         (get("/", host=""), 400),
                         (get("/", "Host: y"), 400),
                         (b"nonsense\r\n\r\n", 501),
                         (b"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400),
                         (get("/", version="2.0"), 505),
                         (get("/", method="BREW"), 501)):
        with server.connect() as client:
            client.sendall(data)
            reader = Reader(client)
            answer = reader.answer()
            check(answer[0] == status, data[:60], answer)
            check(answer[1]["connection"] == "close" and reader.answer() is None)


def files_change(server):
    """The server looks at a file each time it is asked for (--fresh-ms 0)."""
    path = ROOT + "/www/changing"
    for body in (b"one", b"two", b"longer than that", b"x" * 100000, b"short"):
        with open(path + ".new", "wb") as file:
            file.write(body)
        os.rename(path + ".new", path)
        check(ask(server, get("/changing"))[2] == body)
    os.unlink(path)
    check(ask(server, get("/changing"))[0] == 404)


def in_time(condition):
    """Waits until it is so; one that never is, is a failure."""
    limit = time.monotonic() + GUARD_S
    while not condition():
        check(time.monotonic() < limit, condition)
        time.sleep(0.01)


def slow_headers_are_given_up(server):
    """--header-ms is short."""
    with server.connect() as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        reader = Reader(slow)
        check(reader.answer()[0] == 408 and reader.answer() is None)


def idle_clients_are_given_up(server):
    """--idle-ms is short. It is too short for a test that is kept from running
    before it has asked; then it was not even answered, and asks again."""
    with server.connect() as idle:
        check(idle.recv(1) == b"")
    answered = False
    while not answered:
        began = time.monotonic()
        with server.connect() as kept:
            try:
                kept.sendall(get("/"))
                answer = Reader(kept).answer()
                check(answer is None or answer[0] == 200, answer)
                answered = answer is not None
                check(kept.recv(1) == b"")
            except ConnectionError as error:
                check(not answered, error)
            check(time.monotonic() - began >= SHORT_S, "given up too early")


def stalled_clients_are_given_up(server):
    """--stall-ms is short; it has not been read from."""
    with server.connect() as stalled:
        stalled.sendall(get("/large.bin") * 10)
        in_time(lambda: server.established() == 0)
        in_time(lambda: server.descriptors() <= server.base + 4)  # known files
        got, more = 0, b"x"
        while more:
            try:
                more = stalled.recv(1 << 20)
            except ConnectionError:
                break
            got += len(more)
        check(got < 10 * len(FILES["large.bin"]), got)


def many_connections(server):
    """Half of them reset, with something asked and not read."""
    count = 10000 if os.environ.get("RGM_SCALE") == "full" else 400
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(count, (hard - 100) & ~1)
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.sendall(get("/medium.bin") + get("/a.txt"))
    for client in clients[::2]:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        client.close()
    for client in clients[1::2]:
        reader = Reader(client)
        check(reader.answer()[2] == FILES["medium.bin"])
        check(reader.answer()[2] == FILES["a.txt"])
        client.close()
    check(ask(server, get("/"))[0] == 200)


def who_cannot_listen_ends(server):
    """Somebody else has the port; the directory could be served."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = subprocess.run(
            [sys.argv[1], *sys.argv[2:], "--port", str(taken.getsockname()[1]),
             ROOT + "/www"], capture_output=True, text=True, timeout=GUARD_S)
    check(done.returncode == 1 and not done.stdout and
          "Address already in use" in done.stderr, done)


def who_is_stopped_at_once_ends_well(server):
    """It begins with the signal blocked, and waiting for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        early = children.start(
            [sys.argv[1], *sys.argv[2:], "--port", "0", ROOT + "/www"])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    early.send_signal(signal.SIGTERM)
    said, errors = early.communicate(timeout=GUARD_S)
    check(early.returncode == 0 and not errors, "exit status", early.returncode,
          "said", said, "errors", errors)


def load(server):
    if shutil.which("wrk"):
        out = subprocess.run(
            ["wrk", "-t", "1", "-c", "100", "-d", "1", "--timeout",
             str(GUARD_S), server.url("/")],
            capture_output=True, text=True, timeout=GUARD_S).stdout
        check("requests in" in out and "Socket errors" not in out and
              "Non-2xx" not in out, out)
    if shutil.which("ab"):
        out = subprocess.run(
            ["ab", "-q", "-k", "-s", str(GUARD_S), "-n", "2000", "-c", "20",
             server.url("/medium.bin")],
            capture_output=True, text=True, timeout=GUARD_S).stdout
        check(re.search(r"Failed requests: +0\n", out) and "Non-2xx" not in out and
              re.search(r"Keep-Alive requests: +2000\n", out), out)


def accepted_requests_are_finished(server):
    """The server is stopped in the middle of large answers nobody reads yet."""
    clients = [server.connect() for _ in range(4)]
    for client in clients:
        client.sendall(get("/large.bin") * 2 + get("/a.txt"))
        check(client.recv(1, socket.MSG_PEEK))
    half = server.connect()
    half.sendall(get("/a.txt") + b"GET / HT")
    half_reader = Reader(half)
    check(half_reader.answer()[2] == FILES["a.txt"])
    idle = server.connect()
    idle.sendall(get("/a.txt"))
    check(Reader(idle).answer()[0] == 200)
    server.process.send_signal(signal.SIGTERM)
    check(idle.recv(1) == b"" and half_reader.answer() is None)
    for client in clients:
        reader = Reader(client)
        for path in ("large.bin", "large.bin", "a.txt"):
            answer = reader.answer()
            check(answer[0] == 200 and answer[2] == FILES[path], answer[:2])
        check(answer[1].get("connection") == "close" and reader.answer() is None)
        client.close()
    server.end()


def run(server, *tests):
    for test in tests:
        children.run(test, server)


def main():
    atexit.register(shutil.rmtree, ROOT)
    for name, body in FILES.items():
        path = os.path.join(ROOT, "www", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(body)
    with open(ROOT + "/secret", "wb") as file:
        file.write(b"SECRET")
    os.symlink("a.txt", ROOT + "/www/link_in")
    os.symlink("/etc/passwd", ROOT + "/www/link_out")
    os.symlink("..", ROOT + "/www/link_up")
    os.mkfifo(ROOT + "/www/fifo")

    server = Server("--fresh-ms", "0")
    run(server, files_are_served, nothing_outside_is_served, ranges,
        what_a_client_has_is_not_sent, files_change, bad_requests_end_it,
        who_cannot_listen_ends, who_is_stopped_at_once_ends_well)
    server.end()
    server = Server()
    run(server, what_is_asked_again_is_answered_alike,
        pipelines_are_answered_in_order, many_connections, load,
        accepted_requests_are_finished)
    short = str(int(SHORT_S * 1000))
    for test, option in ((slow_headers_are_given_up, "--header-ms"),
                         (idle_clients_are_given_up, "--idle-ms"),
                         (stalled_clients_are_given_up, "--stall-ms")):
        server = Server(option, short, "--cache-files", "2")
        run(server, test)
        server.end()


main()
