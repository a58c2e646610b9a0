#!/usr/bin/env python3
"""Strangers at the ports of two runs: garbage, half greetings, silence, replayed greetings, a wrong secret, huge sizes, slow bytes. Both runs end
with the checksum that they have when they are left alone.

strangers_test.py PROGRAM; LOCKSTEP_STRANGERS=N: so many strangers (50). Only loopback addresses are used.
"""
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from support import checksums
from workers_support import CHALLENGE, GREETING, free_port, greet, listening_ports, receive, start_worker, worker_mnist

STRANGERS = int(os.environ.get("LOCKSTEP_STRANGERS", "50"))
TRAIN = ["mnist", "--json", "--epochs", "25", "--batch", "96"]
LONGEST = 300
HELLO = 104  # bytes of a greeting of the virtual NCCL, simulator/gpu/nccl/message
random.seed(17)
recorded = []  # a greeting of a real worker with the secret of these runs, sent to another connection


def garbage(line, _port):
    line.sendall(os.urandom(random.randint(1, 20000)))


def half_a_greeting(line, _port):
    receive(line, struct.calcsize(CHALLENGE))
    line.sendall(struct.pack(GREETING, 0x4c535711, 1, 2, 1, bytes(16), b"", bytes(32))[:random.randint(1, 4000)])


def silence(line, _port):
    time.sleep(random.random() * 2)


def hold(line, _port):
    line.settimeout(20)
    receive(line, 1 << 20)  # until the other end closes the connection


def wrong_secret(line, _port):
    greet(line, secret="the secret of another run")
    receive(line, 1000)


def replay(line, _port):
    receive(line, struct.calcsize(CHALLENGE))
    line.sendall(recorded[0])
    receive(line, 1000)


def huge_sizes(line, _port):
    receive(line, struct.calcsize(CHALLENGE))
    hello = struct.pack("<IiQQiiQIIq", 0x4c534a02, 1 << 30, 1, 0, 0, 0, 1, 0xffffffff, 65535, 1 << 40)
    line.sendall(hello.ljust(HELLO, b"\xff") + struct.pack("<IIIiiiQ", 0x4c530001, 0xffffffff, 0, 0, 1, 0, 1 << 62))
    receive(line, 1000)


def peer_without_proof(line, _port):
    receive(line, struct.calcsize(CHALLENGE))
    line.sendall(struct.pack("<IiQQiiQIIq", 0x4c534a03, 2, 1, 0, 0, 1, 1, 0x7f000001, 1, 0).ljust(HELLO, b"\0"))
    receive(line, 1000)


def slow_bytes(line, _port):
    for byte in os.urandom(10):
        line.sendall(bytes([byte]))
        time.sleep(0.2)


KINDS = [garbage, half_a_greeting, silence, hold, wrong_secret, replay, huge_sizes, peer_without_proof, slow_bytes]


def visit(kind, port, tally):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
            tally.append(kind.__name__)
            kind(line, port)
    except OSError:
        pass


def start_run(data):
    port = free_port()
    return port, start_worker(TRAIN, data, 0, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=120)


def undisturbed(data):
    port, first = start_run(data)
    second = start_worker(TRAIN, data, 1, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=120)
    out, errors = first.communicate(timeout=LONGEST)
    second.communicate(timeout=LONGEST)
    assert first.returncode == 0 and second.returncode == 0, errors
    return checksums(out)


def record_a_greeting(data):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        worker = start_worker(TRAIN, data, 1, 2, f"127.0.0.1:{listener.getsockname()[1]}", LOCKSTEP_DEADLINE=60)
        line, _ = listener.accept()
        with line:
            line.sendall(struct.pack(CHALLENGE, 0x4c535710, 0, os.urandom(16)))
            recorded.append(receive(line, struct.calcsize(GREETING)))
        worker.kill()
        worker.communicate()
    assert len(recorded[0]) == struct.calcsize(GREETING)


def main():
    with tempfile.TemporaryDirectory() as data:
        worker_mnist(data)
        alone = undisturbed(data)
        record_a_greeting(data)
        runs, threads, tally = [], [], []
        for _ in range(2):
            port, first = start_run(data)
            runs.append({"port": port, "first": first})

        def send(kind, port):
            threads.append(threading.Thread(target=visit, args=(kind, port, tally)))
            threads[-1].start()

        for run in runs:  # strangers come as soon as worker 0 listens, before its worker does
            end = time.monotonic() + 60
            while time.monotonic() < end and (run["port"] not in [port for _, port in listening_ports(run["first"].pid)]):
                time.sleep(0.05)
        before = STRANGERS // 2
        for i in range(before):
            send(KINDS[i % len(KINDS)], runs[i % 2]["port"])
        time.sleep(1)
        for run in runs:
            run["second"] = start_worker(TRAIN, data, 1, 2, f"127.0.0.1:{run['port']}", LOCKSTEP_DEADLINE=120)
        # The others come to the ports on which NCCL listens, in all four processes.
        sent, end = 0, time.monotonic() + 120
        while sent < STRANGERS - before and time.monotonic() < end:
            ports = [port for run in runs for who in ("first", "second") for _, port in listening_ports(run[who].pid) if port != run["port"]]
            if all(run["first"].poll() is not None for run in runs):
                break
            if not ports:
                time.sleep(0.02)
                continue
            send(KINDS[sent % len(KINDS)], random.choice(ports))
            sent += 1
            time.sleep(0.05)
        failures = 0
        for run in runs:
            try:
                out, errors = run["first"].communicate(timeout=LONGEST)
                second_errors = run["second"].communicate(timeout=LONGEST)[1]
            except subprocess.TimeoutExpired:
                failures += 1
                print("FAILED: a run does not end")
                run["first"].kill()
                run["second"].kill()
                continue
            same = run["first"].returncode == 0 and run["second"].returncode == 0 and checksums(out) == alone
            failures += not same
            print(f"{'ok' if same else 'FAILED'}: checksums {checksums(out)}, alone {alone} {errors}{second_errors}")
        for thread in threads:
            thread.join()
    counts = {kind.__name__: tally.count(kind.__name__) for kind in KINDS}
    print(f"{len(tally)} strangers of {STRANGERS} were connected: {counts}; failures: {failures}")
    enough = len(tally) >= STRANGERS * 9 // 10
    if not enough:
        print("FAILED: too few strangers were connected for a result")
    sys.exit(failures != 0 or not enough)


main()
