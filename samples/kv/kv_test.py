#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kv_test.py - does ringmail-kv behave as a Redis user expects?

Starts the server and talks to it over sockets, as a client would. Where a
redis-server is installed the same bytes are sent to it and the answers must
be the same.

    kv_test.py SERVER [--provider ring|threads] [--workers N] [CASE ...]

Exits 0, 1 on a failure, 77 when the provider cannot be had here.
RGM_SCALE=full makes the long cases long; RGM_SEED repeats a run.
"""

import argparse
import atexit
import hashlib
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import children
from children import check

FULL = os.environ.get("RGM_SCALE") == "full"
SEED = int(os.environ.get("RGM_SEED") or str(time.time_ns() % 2**32), 0)
GUARD_S = 60  # against hanging; nothing is measured by it


def encode(*words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        if not isinstance(word, bytes):
            word = str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Failure(str):
    """An error reply."""


class Client:
    def __init__(self, port, receive_buffer=None):
        """To a port, or to a path."""
        path = isinstance(port, str)
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                   receive_buffer)
        self.socket.settimeout(GUARD_S)
        self.socket.connect(port if path else ("127.0.0.1", port))
        if not path:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.at = 0

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise EOFError
        if self.at > 1 << 20:
            del self.buffer[:self.at]
            self.at = 0
        self.buffer += data

    def line(self):
        while True:
            end = self.buffer.find(b"\r\n", self.at)
            if end >= 0:
                line = bytes(self.buffer[self.at:end])
                self.at = end + 2
                return line
            self.more()

    def exactly(self, count):
        while len(self.buffer) - self.at < count:
            self.more()
        data = bytes(self.buffer[self.at:self.at + count])
        self.at += count
        return data

    def reply(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Failure(rest.decode("latin-1"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            length = int(rest)
            if length < 0:
                return None
            data = self.exactly(length + 2)
            check(data[-2:] == b"\r\n", "a bulk string without its end")
            return data[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if line == b"_":
            return None
        if kind == b"%":
            return {self.reply(): self.reply() for _ in range(int(rest))}
        raise children.Failure("not a reply: %r" % line)

    def ask(self, *words):
        self.send(encode(*words))
        return self.reply()

    def all_until_close(self):
        data = bytes(self.buffer[self.at:])
        try:
            while True:
                more = self.socket.recv(1 << 16)
                if not more:
                    return data
                data += more
        except ConnectionResetError:
            return data

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        self.socket.close()


class Server:
    """A running ringmail-kv, or redis-server."""

    def __init__(self, command, port=None, **options):
        self.began = time.monotonic()
        self.process = children.start(command, **options)
        self.command = command
        self.port = port
        with open(shutil.which(command[0]), "rb") as file:
            self.sanitized = re.search(b"__[at]san_init", file.read())
        while self.port is None:
            line = self.process.stdout.readline()
            if not line:
                self.error = self.process.stderr.read()
                self.process.wait()
                return
            found = re.match(r"listening on .*:(\d+)$", line)
            if found:
                self.port = int(found.group(1))

    def client(self, **options):
        return Client(self.port, **options)

    def resident_kib(self):
        """By its pages; VmRSS may be wrong by many pages on each processor."""
        with open("/proc/%d/smaps_rollup" % self.process.pid) as file:
            return int(re.search(r"Rss:\s+(\d+)", file.read()).group(1))

    def cpu_ticks(self):
        with open("/proc/%d/stat" % self.process.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

    def stop(self):
        """Ask it to stop and be sure that it ends well."""
        self.process.send_signal(signal.SIGTERM)
        try:
            _, errors = self.process.communicate(timeout=GUARD_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise children.Failure("did not stop")
        check(self.process.returncode == 0, "exit status",
              self.process.returncode, errors)
        check(not errors, "on stderr:", errors)


CASES = []


def case(function):
    CASES.append(function)
    return function


# ---------------------------------------------------------- the same as Redis

SAME = [line.split() for line in """
PING|PING hello|PING a b|ECHO|ECHO hello|ECHO a b
GET|GET a b|GET missing|SET a|SET a 1|GET a|SET a 1 EX|SET a 1 EX 0
SET a 1 EX -1|SET a 1 EX abc|SET a 1 NX XX|SET a 1 EX 10 PX 10
SET a 1 EX 10 KEEPTTL|SET a 1 KEEPTTL EX 10|SET a 1 FOO
SET a 1 EX 9223372036854775807|SET a 1 PX 9223372036854775807
SET a 1 PX 1000 PX 2000|SET a 1 EX 10 EXAT 10|SET a 1 EXAT 0
SET n 1 NX|SET n 2 NX|GET n|SET m 1 XX|GET m|SET n 3 XX|GET n
SET n 4 GET|SET fresh 1 GET|SET n 5 NX GET|SET absent 1 XX GET|GET absent
set n 7 ex 100 nx get|SET n 8 GET EX 100|TTL n|SET n 9 KEEPTTL|TTL n
SET n 9|TTL n|SET past 1 PXAT 1|GET past
SET s abc|INCR s|DECR s|INCRBY s 1|INCRBY s|INCRBY s x|INCRBY s 1.5
SET i 9223372036854775807|INCR i|DECR i|INCR i|INCRBY i 1
SET i -9223372036854775808|DECR i|DECRBY i -9223372036854775808
SET i 01|INCR i|SET i 10|INCRBY i -20|DECRBY i 5|DECRBY i -5|INCR fresh2
APPEND s def|GET s|STRLEN s|STRLEN missing|APPEND new xyz|GET new|APPEND s
STRLEN|TYPE s|TYPE missing|TYPE|EXISTS s|EXISTS s s missing|EXISTS
DEL|DEL missing|DEL s new missing|EXISTS s
MSET|MSET a|MSET a 1 b|MSET a 1 b 2 c 3|MGET a b c missing|MGET|MGET a a
MSET a 1 a 2|GET a|DEL a b c
EXPIRE a|EXPIRE a x|EXPIRE missing 10|SET a 1|EXPIRE a 9223372036854775807
EXPIRE a -9223372036854775807|EXPIRE a 100 NX|EXPIRE a 100 NX|EXPIRE a 200 GT
EXPIRE a 100 GT|EXPIRE a 100 LT|EXPIRE a 300 LT|EXPIRE a 100 XX|TTL a
EXPIRE a 1 FOO|EXPIRE a 1 NX XX|EXPIRE a 1 NX GT|EXPIRE a 1 GT LT|PERSIST a
TTL a|PERSIST a|PERSIST missing|PERSIST|EXPIRE a 10 XX|EXPIRE a 10 GT
EXPIRE a 10 LT|EXPIRE a -1|GET a|TTL a|PTTL a|TTL|PEXPIRE a 1.5
SET a 1|PEXPIRE a 100000|TTL a|PEXPIRE a 10500|TTL a|PEXPIRE a 0|EXISTS a
SELECT 0|SELECT x|SELECT 99|SELECT|DBSIZE x|FLUSHALL foo|FLUSHALL a b
FLUSHALL ASYNC|FLUSHDB SYNC|DBSIZE|FLUSHALL|foo|foo a b|GETT a
CONFIG|CONFIG GET|CONFIG GET save|CONFIG GET appendonly|CONFIG GET nonsense
CONFIG FOO|COMMAND FOO|CLIENT|CLIENT FOO|CLIENT GETNAME|CLIENT SETNAME x
CLIENT SETNAME|COMMAND DOCS nonsense|INFO nonsense|HELLO 9|RESET
SELECT 2147483648|SELECT -2147483649|SELECT -1|SELECT 9223372036854775808
CONFIG RESETSTAT|CONFIG RESETSTAT x|COMMAND COUNT x|HELLO x|HELLO 9 x
HELLO 2 x|HELLO 2 AUTH a|HELLO 2 AUTH a b|HELLO 2 AUTH a b x
HELLO 2 SETNAME|HELLO 2 SETNAME a x|HELLO 2 AUTH default b SETNAME
HELLO 2 SETNAME a AUTH b c|HELLO 1|HELLO 4|HELLO 3 x|COMMAND DOCS nonsense
""".replace("\n", "|").split("|") if line]


def redis_server():
    """At a path: a port that is free now may be somebody's in a moment."""
    if shutil.which("redis-server") is None:
        return None
    place = tempfile.mkdtemp(prefix="ringmail-redis-")
    atexit.register(shutil.rmtree, place)
    path = os.path.join(place, "socket")
    server = Server(["redis-server", "--port", "0", "--unixsocket", path,
                     "--save", "", "--appendonly", "no", "--logfile",
                     "/dev/null"], path)
    limit = time.monotonic() + GUARD_S
    while time.monotonic() < limit and server.process.poll() is None:
        try:
            Client(path).close()
            return server
        except (FileNotFoundError, ConnectionRefusedError):
            select.select([], [], [], 0.01)
    raise children.Failure("redis-server does not answer:", server.process.poll())


def same(ours, theirs, name, elapsed_s):
    """Time passes between the two, and a TTL in seconds moves on: by no more than
    since they began."""
    if ours == theirs or name[0] not in ("TTL", b"TTL"):
        return ours == theirs
    numbers = [re.fullmatch(rb":(-?\d+)\r\n", a) for a in (ours, theirs)]
    return all(numbers) and abs(int(numbers[0][1]) - int(numbers[1][1])) <= \
        1 + int(elapsed_s)


# The end of the answer to HELLO, which has the number of the connection in it.
HELLO_ENDS = b"$7\r\nmodules\r\n*0\r\n"


def both(ours, redis, data, name, resp3=False):
    """What each answers to these bytes and a half-close."""
    answers = []
    for server in (ours, redis):
        client = server.client()
        client.send(encode("HELLO", "3") * resp3 + data)
        try:
            client.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # closed already, as after a protocol error
        answer = client.all_until_close()
        if resp3:
            hello, answer = answer.split(HELLO_ENDS, 1)
            check(hello.startswith(b"%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n") and
                  b"$5\r\nproto\r\n:3\r\n" in hello, hello)
        answers.append(answer)
        client.close()
    check(same(*answers, name, time.monotonic() - redis.began), name, "ours",
          answers[0], "redis", answers[1])


@case
def the_same_answers_as_redis(server):
    return same_answers(server, False)


@case
def the_same_answers_as_redis_in_resp3(server):
    return same_answers(server, True)


def same_answers(server, resp3):
    redis = redis_server()
    if redis is None:
        return "no redis-server here"
    try:
        server.client().ask("FLUSHALL")
        for words in SAME:
            both(server, redis, encode(*words), words, resp3)
        long = [b"F" * 200, b"x" * 300, b"y"]
        for words in ([b""], long, [b"foo\r\nbar", b"a\nb"], [b"GET", b""],
                      [b"SET", b"k\0k", b"v\0\r\nv"], [b"GET", b"k\0k"],
                      [b"CONFIG", b"Z" * 200], [b"EXPIRE", b"k", b"1", b"x\n\r"],
                      [b"HELLO", b"2", b"SETNAME", b"a b"],
                      [b"CLIENT", b"SETNAME", b"a b"]):
            both(server, redis, encode(*words), words, resp3)
    finally:
        redis.stop()
    return "%d commands" % len(SAME)


@case
def a_change_of_protocol_is_in_its_turn(server):
    """What was sent before HELLO is answered as before, what comes behind it in
    the new one, in one pipeline and wherever the keys are."""
    gets = b"".join(encode("GET", "none%d" % i) for i in range(20))
    both_ways = gets + encode("HELLO", "3") + gets + encode("RESET") + gets
    client = server.client()
    client.send(both_ways + encode("QUIT"))
    answer = client.all_until_close()
    hello = re.search(rb"%7\r\n.*" + re.escape(HELLO_ENDS), answer, re.S).group(0)
    check(answer == b"$-1\r\n" * 20 + hello + b"_\r\n" * 20 + b"+RESET\r\n" +
          b"$-1\r\n" * 20 + b"+OK\r\n", answer)
    client.close()
    client = server.client()
    client.send(encode("HELLO", "3") + encode("INFO", "server") + encode("QUIT"))
    answer = client.all_until_close().split(HELLO_ENDS, 1)[1]
    length, text = re.fullmatch(rb"=(\d+)\r\n(txt:.*)\r\n\+OK\r\n", answer,
                                re.S).groups()
    check(int(length) == len(text), answer)
    client.close()


PROTOCOL = [
    b"*2147483648\r\n", b"*abc\r\n", b"*\r\n", b"*1\r\nPING\r\n",
    b"*1\r\n$-1\r\n", b"*1\r\n$abc\r\n", b"*1\r\n$536870913\r\n",
    b"*+1\r\n$4\r\nPING\r\n", b"*01\r\n$4\r\nPING\r\n",
    b"*1\r\n$04\r\nPING\r\n", b"*1\nx$4\r\nPING\r\n", b"*1\r\n:1\r\n",
    b"*1\r\n\r\n", b"ECHO \"a b\r\n", b"PING \"a\"b\r\n", b"P" * 70000,
    b"*1" + b"1" * 70000, b"*1\r\n$" + b"1" * 70000,
    b"PING\r\n*1\r\n$x\r\n",
    # these are no errors
    b"*-1\r\nPING\r\n", b"*0\r\nPING\r\n", b"*1\r\n$4\r\nPINGxx",
    b"\r\nPING\r\n\nPING\n", b"ECHO 'a b'\r\n", b"ECHO \"\\x00\\n\"\r\n",
    b"  SET  a  1 \r\n", b"P" * 65000 + b"\r\n",
    # these are a browser's
    b"POST / HTTP/1.1\r\nA: b\r\n\r\nPING\r\n", b"host: x\r\nPING\r\n",
]


@case
def protocol_errors_are_redis_errors(server):
    redis = redis_server()
    if redis is None:
        return "no redis-server here"
    try:
        for data in PROTOCOL:
            both(server, redis, data, data[:40])
    finally:
        redis.stop()
    return "%d inputs" % len(PROTOCOL)


# ------------------------------------------------------------------- one client

@case
def every_cut_of_a_pipeline(server):
    """The same answers however the bytes arrive."""
    data = (encode("SET", b"cut\r\n", b"v\0\r\n") + encode("GET", b"cut\r\n") +
            b"PING\r\n" + encode("MSET", "c1", "x", "c2", "y") +
            encode("MGET", "c1", "c2") + encode("INCR", "nothing", "here") +
            encode("APPEND", "cut2", "z" * 300) + encode("DEL", "cut2"))
    expected = None
    client = server.client()
    for at in range(len(data)):
        client.send(data[:at])
        if at % 3 == 0:  # let it arrive alone
            server.client().ask("PING")
        client.send(data[at:])
        answers = [client.reply() for _ in range(8)]
        expected = expected or answers
        check(answers == expected, at, answers)
    client.close()


class Model:
    """A dictionary that answers as the server must."""

    def __init__(self):
        self.values = {}

    def set(self, key, value):
        self.values[key] = value
        return "OK"

    def append(self, key, value):
        self.values[key] = self.values.get(key, b"") + value
        return len(self.values[key])

    def incr(self, key):
        try:
            number = int(self.values.get(key, b"0"))
        except ValueError:
            number = None
        if number is None:
            return Failure("ERR value is not an integer or out of range")
        self.values[key] = b"%d" % (number + 1)
        return number + 1

    def delete(self, keys):
        return sum(self.values.pop(key, None) is not None for key in keys)

    def step(self, rng, keys):
        """A random command and what it must answer."""
        key = rng.choice(keys)
        some = [rng.choice(keys) for _ in range(rng.randrange(1, 6))]
        value = rng.randbytes(rng.choice((0, 3, 30, 200, 5000)))
        what = rng.randrange(9)
        if what == 0:
            return ("GET", key), self.values.get(key)
        if what == 1:
            return ("SET", key, value), self.set(key, value)
        if what == 2:
            return ("APPEND", key, value[:50]), self.append(key, value[:50])
        if what == 3:
            return ("DEL", *some), self.delete(some)
        if what == 4:
            return ("MGET", *some), [self.values.get(k) for k in some]
        if what == 5:
            words = ["MSET"]
            for k in some:
                words += [k, value]
                self.values[k] = value
            return tuple(words), "OK"
        if what == 6:
            return ("EXISTS", *some), sum(k in self.values for k in some)
        if what == 7:
            counter = b"n" + key
            return ("INCR", counter), self.incr(counter)
        return ("PING", value[:60]), value[:60]


def run_model(server, seed, prefix, rounds):
    rng = random.Random(seed)
    keys = [prefix + rng.randbytes(rng.choice((0, 2, 9, 150)))
            for _ in range(20)]
    model = Model()
    client = server.client()
    for _ in range(rounds):
        commands = []
        answers = []
        for _ in range(rng.choice((1, 1, 3, 16, 60))):
            words, answer = model.step(rng, keys)
            commands.append(words)
            answers.append(answer)
        client.send(b"".join(encode(*words) for words in commands))
        for words, answer in zip(commands, answers):
            got = client.reply()
            check(got == answer, words, "answered", got, "not", answer)
    client.close()


@case
def a_pipeline_agrees_with_a_model(server):
    run_model(server, SEED, b"one:", 2000 if FULL else 150)


@case
def large_values_arrive_whole(server):
    size = (64 if FULL else 16) << 20
    value = random.Random(SEED).randbytes(1 << 20) * (size >> 20)
    client = server.client()
    other = server.client()
    check(client.ask("SET", "large", value) == "OK")
    check(client.ask("STRLEN", "large") == size)
    # Overwritten while it is on its way out: a view stays what it was.
    client.send(encode("GET", "large") * 2)
    at = client.at
    client.exactly(1000)
    check(other.ask("APPEND", "large", "tail") == size + 4)
    check(other.ask("SET", "large", "small") == "OK")
    client.at = at
    for _ in range(2):
        got = client.reply()
        if got == b"small":
            continue  # the second may come after the SET
        check(hashlib.sha1(got[:size]).digest() ==
              hashlib.sha1(value).digest(), "not what was set")
        check(got[size:] in (b"", b"tail"))
    check(client.ask("MSET", "l1", value, "l2", "x", "l3", value) == "OK")
    got = client.ask("MGET", "l3", "l2", "missing", "l1")
    check(got == [value, b"x", None, value])
    check(client.ask("ECHO", value[:1 << 20]) == value[:1 << 20])
    check(client.ask("SET", "l1", value[:100000], "GET") == value)
    check(client.ask("DEL", "large", "l1", "l2", "l3") == 4)
    client.close()
    other.close()


@case
def keys_expire_on_access_and_without(server):
    client = server.client()
    client.ask("FLUSHALL")
    count = 2000
    client.send(b"".join(encode("SET", "e:%d" % i, "v", "PX", 1 + i % 400)
                         for i in range(count)))
    for _ in range(count):
        check(client.reply() == "OK")
    began = time.monotonic()
    client.ask("SET", "stays", "v", "PX", 1000000)
    check(999000 - 1000 * GUARD_S < client.ask("PTTL", "stays") <= 1000000)
    check(client.ask("SET", "short", "v", "PX", 60) == "OK")
    limit = time.monotonic() + GUARD_S
    while client.ask("GET", "short") is not None:
        check(time.monotonic() < limit, "a key did not expire on access")
    check(client.ask("TTL", "short") == -2)
    # Nobody touches the others: the workers' timers remove them.
    while client.ask("DBSIZE") != 1:
        check(time.monotonic() < limit, "keys did not expire by themselves")
        select.select([], [], [], 0.01)
    left = client.ask("TTL", "stays")
    check(999 - int(time.monotonic() - began) <= left <= 1000, left)
    check(client.ask("DEL", "stays") == 1)
    client.close()


@case
def a_half_close_is_answered(server):
    client = server.client()
    client.send(encode("SET", "h", "1") * 100 + b"*2\r\n$3\r\nGE")
    client.socket.shutdown(socket.SHUT_WR)
    check(client.all_until_close() == b"+OK\r\n" * 100)
    client.close()


@case
def what_came_before_the_last_command_arrives(server):
    """Also when the client goes on sending: a reset would destroy replies."""
    value = b"v" * 100000
    server.client().ask("SET", "before", value)
    for last, answer in ((encode("QUIT"), "OK"), (b"*1\r\n!", Failure(
            "ERR Protocol error: expected '$', got '!'"))):
        client = server.client()
        asked = encode("GET", "before") * 300 + last + encode("PING") * 3000

        def write():
            try:
                client.send(asked)
            except OSError:
                pass  # the server has heard enough

        writer = threading.Thread(target=write)
        writer.start()
        for number in range(300):
            check(client.reply() == value, number)
        check(client.reply() == answer)
        check(client.all_until_close() == b"")
        client.close()
        writer.join()


# ---------------------------------------------------------------- many clients

def in_threads(functions):
    failures = []

    def run(function):
        try:
            function()
        except BaseException as failure:  # reported by the caller
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@case
def each_key_has_one_truth(server):
    """Clients with keys of their own, side by side, agree with models."""
    rounds = 1000 if FULL else 60
    in_threads([lambda i=i: run_model(server, SEED + i, b"k%d:" % i, rounds)
                for i in range(8)])


@case
def a_half_mset_is_never_seen(server):
    """Readers see all keys of an MSET or none, and never go back in time."""
    keys = ["atom:%d" % i for i in range(6)]
    server.client().ask("MSET", *[w for k in keys for w in (k, 0)])
    rounds = 3000 if FULL else 300
    running = [2]

    def write(first):
        client = server.client()
        try:
            for number in range(first, rounds, 2):
                order = random.sample(keys, len(keys))
                words = [w for k in order for w in (k, number)]
                check(client.ask("MSET", *words) == "OK")
        finally:
            running[0] -= 1
            client.close()

    def read_all():
        client = server.client()
        while running[0] > 0:
            order = random.sample(keys, len(keys))
            client.send(encode("MGET", *order) * 3)
            for _ in range(3):
                seen = set(client.reply())
                check(len(seen) == 1, "half an MSET:", seen)
        client.close()

    def read_one_by_one():
        """With one writer, a later GET never shows an older MSET."""
        client = server.client()
        while running[0] > 0:
            seen = [int(client.ask("GET", "by" + k))
                    for k in random.sample(keys, 3)]
            check(seen == sorted(seen), "back in time:", seen)
        client.close()

    def write_alone():
        client = server.client()
        number = 0
        while running[0] > 0:
            number += 1
            client.ask("MSET", *[w for k in keys for w in ("by" + k, number)])
        client.close()

    server.client().ask("MSET", *[w for k in keys for w in ("by" + k, 0)])
    in_threads([lambda: write(0), lambda: write(1), read_all, read_all,
                read_one_by_one, write_alone])


@case
def resets_disturb_nobody(server):
    """Many connections, half of them reset in the middle of a command."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1000
    if soft < wanted + 100 and hard >= wanted + 100:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 100, hard))
    elif soft < wanted + 100:
        wanted = soft - 100
    clients = [server.client() for _ in range(wanted)]
    rng = random.Random(SEED)
    value = b"x" * 30000
    for i, client in enumerate(clients):
        client.send(encode("SET", "r%d" % i, value))
        client.send(encode("GET", "r%d" % i) * 3)
    cut = encode("SET", "never", value)
    for client in clients[::2]:
        client.send(cut[:rng.randrange(1, len(cut))])
        client.reset()
    for i in range(1, wanted, 2):
        check(clients[i].reply() == "OK")
        for _ in range(3):
            check(clients[i].reply() == value, i)
        check(clients[i].ask("DEL", "r%d" % i) == 1)
    check(clients[1].ask("EXISTS", "never") == 0)
    for client in clients[1::2]:
        client.close()
    return "%d connections" % wanted


@case
def a_slow_reader_costs_a_bounded_amount(server):
    """Who does not read is not read from; the others do not notice."""
    other = server.client()
    other.ask("SET", "slow", b"s" * 3000)
    before = server.resident_kib()
    slow = [server.client(receive_buffer=4096) for _ in range(4)]
    batch = encode("GET", "slow") * 2000
    sent = [0] * len(slow)
    for client in slow:
        client.socket.setblocking(False)
    for _ in range(50):
        for i, client in enumerate(slow):
            try:
                sent[i] += client.socket.send(batch)
            except BlockingIOError:
                pass
        check(other.ask("PING") == "PONG")
    grown = server.resident_kib() - before
    # Per connection: 1 MiB of replies that wait, and one that is being written,
    # and 3 MB that 1,024 commands bring which were out by then. A sanitizer keeps
    # what was freed for a while.
    limit = len(slow) * 6144 * (8 if server.sanitized else 1)
    check(grown < limit, "grew by", grown, "KiB")
    for client in slow[1:]:
        client.reset()
    # The first one reads after all, and misses nothing.
    slow[0].socket.setblocking(True)
    slow[0].socket.settimeout(GUARD_S)
    slow[0].socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    for _ in range(sent[0] // len(encode("GET", "slow"))):
        check(slow[0].reply() == b"s" * 3000)
    slow[0].close()
    other.close()
    return "grew by %d KiB" % grown


@case
def what_nobody_reads_holds_up_nobody(server):
    """Not a slot of the pool is kept for echoes that are not taken."""
    other = server.client()
    slow = [server.client(receive_buffer=4096) for _ in range(24)]
    batch = encode("ECHO", b"e" * 5000) * 300
    for client in slow:
        client.socket.setblocking(False)
    for _ in range(10):
        for client in slow:
            try:
                while True:
                    client.socket.send(batch)
            except BlockingIOError:
                pass
        check(other.ask("PING") == "PONG")
    for _ in range(16):
        client = server.client()
        check(client.ask("PING") == "PONG")
        client.close()
    for client in slow:
        client.reset()
    other.close()


@case
def idle_connections_cost_little(server, start):
    server = start()  # one whose memory nothing else has grown
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # Each costs a look in each pulse of a provider that cannot wait for it.
    quick = 500 if "threads" in server.command else 2000
    wanted = min(10000 if FULL else quick, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    first = [server.client() for _ in range(200)]
    for client in first:
        client.ask("PING")
    before = server.resident_kib()
    clients = [server.client() for _ in range(wanted)]
    for client in clients:
        check(client.ask("PING") == "PONG")
    each = (server.resident_kib() - before) * 1024 / wanted
    ticks = server.cpu_ticks()
    select.select([], [], [], 0.5)
    ticks = server.cpu_ticks() - ticks
    for client in clients + first:
        client.close()
    server.stop()
    check(each < 1024 or server.sanitized, "bytes per idle connection:", int(each))
    # The threads provider has a pulse: it is not meant to be idle.
    check(ticks <= 5 or "threads" in server.process.args, "CPU ticks in half a second of idling:", ticks)
    return "%d bytes each of %d" % (each, wanted)


# --------------------------------------------------------------- Redis's tools

@case
def redis_tools_work(server):
    if shutil.which("redis-benchmark") is None:
        return "no redis-benchmark here"
    client = server.client()
    client.ask("FLUSHALL")
    count = 1000000 if FULL else 4000 if server.sanitized else 20000
    sent = 0
    for pipeline, count in ((16, count), (1, count // 4)):
        sent += count
        done = subprocess.run(
            ["redis-benchmark", "-p", str(server.port), "-q", "-c", "50",
             "-t", "set,get,incr,mset", "-n", str(count), "-r", "1000", "-P",
             str(pipeline), "-d", "11"],
            capture_output=True, text=True, timeout=GUARD_S * 10)
        check(done.returncode == 0 and not done.stderr, done.stdout,
              done.stderr)
        check("rror" not in done.stdout, done.stdout)
    counters = client.ask("MGET", *["counter:%012d" % i for i in range(1000)])
    total = sum(int(value or 0) for value in counters)
    check(total == sent, "counters add up to", total)
    values = client.ask("MGET", *["key:%012d" % i for i in range(1000)])
    check(all(value is None or len(value) == 11 for value in values))
    done = subprocess.run(["redis-cli", "-p", str(server.port)],
                          input="set a \"b c\"\nget a\nmget a none\nfoo\n",
                          capture_output=True, text=True, timeout=GUARD_S)
    check(done.stdout.split("\n")[:4] == ["OK", "b c", "b c", ""],
          done.stdout)
    check("unknown command 'foo'" in done.stdout)
    client.close()


# ----------------------------------------------------------------- the ends

@case
def config_set_moves_keys(server):
    client = server.client()
    check(client.ask("FLUSHALL") == "OK")
    name, before = client.ask("CONFIG", "GET", "workers")
    check(name == b"workers")
    for i in range(2000):
        client.send(encode("SET", "moved:%d" % i, i))
    for i in range(2000):
        check(client.reply() == "OK")
    check(client.ask("PEXPIRE", "moved:7", 1000000) == 1)
    check(client.ask("SET", "moved:gone", "x", "PX", 300) == "OK")
    for count in (1, 3, 2, int(before)):
        check(client.ask("CONFIG", "SET", "workers", count) == "OK")
        check(client.ask("CONFIG", "GET", "workers")[1] == b"%d" % count)
        check(b"\nworkers:%d\r" % count in client.ask("INFO"))
        keys = ["moved:%d" % i for i in range(2000)]
        check(client.ask("MGET", *keys) == [b"%d" % i for i in range(2000)])
        check(client.ask("DBSIZE") in (2000, 2001))
        check(0 < client.ask("PTTL", "moved:7") <= 1000000)
        check(server.client().ask("GET", "moved:9") == b"9")
    while client.ask("EXISTS", "moved:gone"):
        pass
    check(client.ask("DBSIZE") == 2000)
    check(client.ask("FLUSHALL") == "OK" and client.ask("DBSIZE") == 0)
    for words in (("workers", 0), ("workers", 65), ("workers", "x"),
                  ("maxmemory", 1)):
        check(isinstance(client.ask("CONFIG", "SET", *words), Failure), words)


@case
def info_counts(server):
    client = server.client()
    client.ask("FLUSHALL")
    client.ask("MSET", "a", "1", "b", "2", "c", "3")
    client.ask("EXPIRE", "a", "100")
    info = client.ask("INFO").decode()
    check("db0:keys=3,expires=1" in info, info)
    check(re.search(r"connected_clients:[1-9]", info), info)
    # What `redis-cli --stat` asks for; it shows nonsense for what is missing.
    for name in ("blocked_clients", "total_connections_received",
                 "total_commands_processed", "used_memory"):
        check(re.search(r"\n%s:\d+\r" % name, info), name, info)
    check(re.search(r"redis_version:\d+\.\d+", info), info)
    check(client.ask("INFO", "keyspace").startswith(b"# Keyspace"))
    check(client.ask("DBSIZE") == 3)
    client.close()


def counted(client):
    """What INFO counts up, and how many workers have not ended."""
    info = client.ask("INFO").decode()
    return [int(re.search(r"\n%s:(\d+)" % name, info).group(1)) for name in (
        "worker_threads", "total_connections_received",
        "total_commands_processed", "expired_keys",
        "slots_moved", "slot_longest_hold_us")]


@case
def what_is_counted_outlives_workers(server):
    client = server.client()
    _, before = client.ask("CONFIG", "GET", "workers")
    check(client.ask("CONFIG", "SET", "workers", 3) == "OK")
    earlier = counted(client)[3]
    for i in range(300):
        client.send(encode("SET", "counted:%d" % i, "x", "PX", 1))
    for i in range(300):
        check(client.reply() == "OK")
    while counted(client)[3] < earlier + 300:
        pass
    then = counted(client)
    check(client.ask("CONFIG", "SET", "workers", 1) == "OK")
    while (now := counted(client))[0] > 1:
        pass
    check(all(a >= b for a, b in zip(now[1:], then[1:])), then, now)
    check(client.ask("CONFIG", "SET", "workers", int(before)) == "OK")
    client.close()


@case
def a_connection_that_moves_keeps_its_protocol(server):
    client = server.client()
    _, before = client.ask("CONFIG", "GET", "workers")
    check(client.ask("CONFIG", "SET", "workers", 4) == "OK")
    others = [server.client() for _ in range(32)]
    for other in others:
        check(other.ask("HELLO", 3)[b"proto"] == 3)
    check(client.ask("CONFIG", "SET", "workers", 1) == "OK")
    while counted(client)[0] > 1:
        pass
    for other in others:
        other.send(encode("GET", "none") + encode("HELLO") + encode("GET", "none"))
        check(other.line() == b"_" and other.reply()[b"proto"] == 3 and
              other.line() == b"_")
    check(client.ask("CONFIG", "SET", "workers", int(before)) == "OK")
    client.close()


@case
def no_descriptor_left_is_no_end(server, start):
    """The backlog waits until there are descriptors again."""
    limit = 60

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    small = start(preexec_fn=few)
    served = small.client()
    # Before the others come: each worker listens for itself, and those that are
    # quick would leave no descriptor to the one that has this client.
    check(served.ask("SET", "a", "1") == "OK")
    clients = [served] + [small.client() for _ in range(limit + 20)]
    waiting = clients[-1]
    waiting.send(encode("GET", "a"))
    check(served.ask("GET", "a") == b"1")
    for client in clients[1:limit - 10]:
        client.close()
    check(waiting.reply() == b"1")
    small.stop()
    for client in [served] + clients[limit - 10:]:
        client.close()


@case
def sigterm_at_once_is_a_good_end(server):
    """Whenever it comes, once the program is its own, the end is as any other."""
    mask = [signal.SIGTERM]
    signal.pthread_sigmask(signal.SIG_BLOCK, mask)
    try: # it begins with the signal blocked, and waiting for it
        early = children.start(server.command)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, mask)
    early.send_signal(signal.SIGTERM)
    _, errors = early.communicate(timeout=GUARD_S)
    check(early.returncode == 0 and not errors, "exit status",
          early.returncode, errors)


@case
def sigterm_under_load_answers_what_it_took(server, start):
    """Each client gets whole replies, in order, and then the end."""
    victim = start()
    ready = threading.Barrier(9)

    def load(i):
        client = victim.client()
        count = 0
        first = True
        try:
            while True:
                client.send(b"".join(encode("INCR", "t%d" % i)
                                     for _ in range(64)))
                for _ in range(64):
                    count += 1
                    check(client.reply() == count)
                if first:
                    first = False
                    ready.wait(GUARD_S)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            check(not first, "ended before it began")
            # What has come is whole: nothing but complete replies.
            rest = bytes(client.buffer[client.at:])
            check(b"-" not in rest, rest)
        client.close()

    def stop():
        ready.wait(GUARD_S)
        idle = victim.client()
        idle.ask("PING")
        victim.stop()
        check(idle.all_until_close() == b"")

    in_threads([lambda i=i: load(i) for i in range(8)] + [stop])


@case
def sigterm_with_a_stuck_client_ends(server, start):
    """A client that never reads delays the end, but not for ever."""
    victim = start()
    other = victim.client()
    other.ask("SET", "big", b"b" * (8 << 20))
    stuck = victim.client(receive_buffer=4096)
    stuck.send(encode("GET", "big") * 4)
    stuck.exactly(1)
    check(other.ask("PING") == "PONG")
    victim.stop()
    stuck.close()
    other.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--provider", default="ring")
    parser.add_argument("--workers", default="2")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_intermixed_args()
    command = [options.server, "--port", "0", "--workers", options.workers,
               "--provider", options.provider, "--grace-ms", "300"]

    def start(**more):
        return Server(command, **more)

    print("# RGM_SEED=%d" % SEED)
    server = start()
    if server.port is None:
        print("cannot start:", server.error.strip())
        return 77 if "io_uring" in server.error else 1
    failed = 0
    for function in CASES:
        name = function.__name__
        if options.cases and not any(c in name for c in options.cases):
            continue
        began = time.monotonic()
        arguments = (server, start)[:function.__code__.co_argcount]
        try:
            note = function(*arguments)
        except Exception as failure:
            failed += 1
            print("not ok %s: %s: %s" % (name, type(failure).__name__,
                                         failure))
            traceback.print_exc(limit=-3, file=sys.stdout)
            for process in children.STARTED:
                if process is not server.process:
                    children.tell(process)
            sys.stdout.flush()
            if server.process.poll() is not None:
                print("the server has ended:", server.process.returncode,
                      server.process.stderr.read())
                return 1
            continue
        print("ok %s (%.1f s)%s" % (name, time.monotonic() - began,
                                    " # " + note if note else ""), flush=True)
    try:
        server.stop()
    except children.Failure as failure:
        failed += 1
        print("not ok stop:", failure)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
