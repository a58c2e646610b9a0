#!/usr/bin/env python3
"""Workers that differ, do not arrive, or are not workers at all: each case ends before its deadline, with one sentence that says what is wrong.

workers_test.py PROGRAM [CASE ...]
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from support import DEADLINE, check, checksums, finish
from workers_support import SECRET, free_port, greet, listening_ports, receive, start, start_worker, worker_mnist

TRAIN = ["mnist", "--json", "--epochs", "1", "--batch", "96"]


def ends(*processes):
    """What each printed to stderr; a process that does not end is a failure."""
    texts = []
    for process in processes:
        try:
            texts.append(process.communicate(timeout=DEADLINE)[1])
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            check(False, f"it ends: {process.args}")
            texts.append("")
    return texts


def pair(folder, first, second, **environment_of_second):
    """Two workers, started one by one with different arguments or environments."""
    address = f"127.0.0.1:{free_port()}"
    data = environment_of_second.pop("data", folder)
    workers = (start_worker(first, folder, 0, 2, address, LOCKSTEP_DEADLINE=60),
               start_worker(second, data, 1, 2, address, **{"LOCKSTEP_DEADLINE": 60, **environment_of_second}))
    return workers, ends(*workers)


def expect_difference(folder, what, words, second, **environment_of_second):
    workers, texts = pair(folder, TRAIN, second, **environment_of_second)
    for number, (worker, text) in enumerate(zip(workers, texts)):
        check(worker.returncode == 1 and "Worker 1 does not run what worker 0 runs" in text and all(word in text for word in words),
              f"{what}: worker {number} says so ({text.strip()!r}, exit code {worker.returncode})")


def what_differs(folder):
    workers, texts = pair(folder, TRAIN, TRAIN)
    check([worker.returncode for worker in workers] == [0, 0], f"the same arguments train ({texts})")
    expect_difference(folder, "another seed", ["--seed is 4", "0's is 0"], [*TRAIN, "--seed", "4"])
    expect_difference(folder, "another learning rate", ["--learning-rate is 0.1", "not given"], [*TRAIN, "--learning-rate", "0.1"])
    other = os.path.join(folder, "other")
    worker_mnist(other, seed=2)
    expect_difference(folder, "other data", ["its data is"], TRAIN, data=other)
    expect_difference(folder, "drawn digits", ["its data is"], TRAIN, data=os.path.join(folder, "none"), HOME=folder)


def addresses(folder):
    for address, words in (("127.0.0.1:99999", "from 1 to 65535"), ("127.0.0.1:0", "from 1 to 65535"), ("127.0.0.1", "there is no port"),
                           ("::1:4000", "brackets"), ("127.0.0.1:4000x", "from 1 to 65535"), ("\x1b[2J:4000", "can't be found")):
        worker = start_worker(TRAIN, folder, 0, 2, address, LOCKSTEP_DEADLINE=5)
        text = ends(worker)[0]
        check(worker.returncode == 1 and words in text and "\x1b" not in text, f"address {address!r} is refused: {text.strip()}")
    try:
        port = free_port(socket.AF_INET6, "::1")
    except OSError:
        print("skipped: no IPv6 here")
        return
    workers = [start_worker(TRAIN, folder, worker, 2, f"[::1]:{port}", LOCKSTEP_DEADLINE=60) for worker in (0, 1)]
    texts = ends(*workers)
    check([worker.returncode for worker in workers] == [0, 0], f"workers meet at an IPv6 address ({texts})")


def secrets(folder):
    for secret in (None, "short"):
        worker = start_worker(TRAIN, folder, 0, 2, f"127.0.0.1:{free_port()}", secret=secret)
        text = ends(worker)[0]
        check(worker.returncode == 1 and "LOCKSTEP_SECRET" in text, f"secret {secret!r} is refused: {text.strip()}")
    address = f"127.0.0.1:{free_port()}"
    workers = (start_worker(TRAIN, folder, 0, 2, address, LOCKSTEP_DEADLINE=4),
               start_worker(TRAIN, folder, 1, 2, address, secret="another secret of the test", LOCKSTEP_DEADLINE=60))
    first, second = ends(*workers)
    check("Worker 1 did not come" in first and "did not prove that they know the secret" in first, f"worker 0: {first.strip()}")
    check("has another secret" in second, f"worker 1: {second.strip()}")


def connect(port):
    """To a worker that is about to listen."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=30)
        except OSError:
            time.sleep(0.05)
    raise OSError("it does not listen")


def silence(folder):
    """A worker that greets with the secret and then sends nothing is waited for until the deadline; so is a connection that sends nothing."""
    port = free_port()
    worker = start_worker(TRAIN, folder, 0, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=4)
    facts = b"".join(f"{line}\n".encode() for line in facts_of(folder))
    with connect(port) as line:
        greet(line, facts=facts)
        text = ends(worker)[0]
        answer = receive(line, 100000)
    check(worker.returncode == 1 and "rank 1 did not come" in text and "LOCKSTEP_DEADLINE" in text,
          f"a worker that greets and falls silent: {text.strip()}")
    check(len(answer) >= 688 * 2, "it had been admitted")
    port = free_port()
    worker = start_worker(TRAIN, folder, 0, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=60)
    lines = [connect(port) for _ in range(3)]
    late = start_worker(TRAIN, folder, 1, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=60)
    began = time.monotonic()
    ends(worker, late)
    print(f"       behind three silent connections: {time.monotonic() - began:.1f} s")
    check(worker.returncode == 0 and late.returncode == 0, "three silent connections do not keep a worker from its place")
    for line in lines:
        line.close()


def facts_of(folder):
    """The facts that worker 0 expects of worker 1, taken from a real worker that greets this test."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        worker = start_worker(TRAIN, folder, 1, 2, f"127.0.0.1:{listener.getsockname()[1]}", LOCKSTEP_DEADLINE=20)
        line, _ = listener.accept()
        line.sendall(b"\x10\x57\x53\x4c" + bytes(20))
        greeting = receive(line, 4160)
        # An answer whose proof is wrong, with escape codes in its text.
        line.sendall(b"\x14\x57\x53\x4c" + bytes(12 + 128) + b"\x1b[2J\x1b]0;mine\x07".ljust(512, b"x") + bytes(32))
        text = ends(worker)[0]
    check(worker.returncode == 1 and "does not know the secret" in text and "\x1b" not in text and "mine" not in text,
          f"an impostor at worker 0's place: {text.strip()}")
    return greeting[32:32 + 4096].rstrip(b"\0").decode().splitlines()


def escape_codes(folder):
    """A worker with the secret whose facts have escape codes."""
    port = free_port()
    worker = start_worker(TRAIN, folder, 0, 2, f"127.0.0.1:{port}", LOCKSTEP_DEADLINE=30)
    with connect(port) as line:
        greet(line, facts=b"--alpha\t\x1b[2J\x1b]0;mine\x07\xc2\x9b31m\n")
        text = ends(worker)[0]
    check(worker.returncode == 1 and "its --alpha is ?[2J" in text and "\x1b" not in text and "\x07" not in text and "\\xc2" not in text and
          "\x9b" not in text, f"escape codes of a peer do not reach the terminal: {text.strip()}")


def worker_of(launcher, number):
    children = subprocess.run(["pgrep", "-P", str(launcher.pid)], capture_output=True, text=True, check=False).stdout.split()
    for pid in children:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"LOCKSTEP_WORKER={number}".encode() in file.read().split(b"\0"):
                    return int(pid)
        except OSError:
            pass
    return None


def killed_in_start_up(folder):
    """One of three workers is stopped, so that the others wait for it, and then killed: all end long before their deadline."""
    for victim in (1, 0):
        # Drawing digits takes long enough to stop it before it greets.
        launcher = start([*TRAIN, "--workers", "3"], os.path.join(folder, "none"), HOME=folder, LOCKSTEP_DEADLINE=200)
        pid = None
        while pid is None and launcher.poll() is None:
            pid = worker_of(launcher, victim)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        text = ends(launcher)[0]
        others = [line for line in text.splitlines() if line.startswith("[worker ") and f"worker {victim} was ended by signal 9" in line]
        print(f"       after {time.monotonic() - began:.1f} s")
        check(launcher.returncode == 137 and len(others) == 2 and "is stopped" not in text,
              f"worker {victim} killed in start-up is named by both others, which end by themselves: {text.strip()!r}")


def loopback(folder):
    """Workers of one machine listen on its loopback, whatever interface the environment names."""
    with open("/proc/net/route", encoding="ascii") as routes:  # those that have an address
        interfaces = sorted({line.split()[0] for line in routes.readlines()[1:]} - {"lo"})
    launcher = start(["mnist", "--json", "--epochs", "2000", "--batch", "96", "--workers", "2"], folder,
                     NCCL_SOCKET_IFNAME=(interfaces or ["eth"])[0])
    seen = set()
    end = time.monotonic() + 120
    while time.monotonic() < end and launcher.poll() is None and len(seen) < 3:  # worker 0 while they meet, then NCCL in both
        fresh = [place for number in (0, 1) for place in listening_ports(worker_of(launcher, number) or 0) if place not in seen]
        seen.update(fresh)
        if fresh and len(seen) == 2:
            end = min(end, time.monotonic() + 3)
        time.sleep(0.02)
    for number in (0, 1):
        pid = worker_of(launcher, number)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
    ends(launcher)
    check(len(seen) >= 2 and all(address == "0100007F" for address, _ in seen), f"only the loopback is listened on: {seen} ({interfaces})")


def same_bits(folder):
    one = start([*TRAIN, "--gpus", "2"], folder)
    two = start([*TRAIN, "--workers", "2"], folder)
    sums = [checksums(process.communicate(timeout=DEADLINE)[0]) for process in (one, two)]
    check(sums[0] == sums[1] and len(sums[0]) == 2, f"two workers end with the bits of two GPUs: {sums}")


def main():
    assert len(SECRET) >= 16
    with tempfile.TemporaryDirectory() as folder:
        worker_mnist(folder)
        for case in (same_bits, what_differs, addresses, secrets, silence, escape_codes, killed_in_start_up, loopback):
            if len(sys.argv) > 2 and case.__name__ not in sys.argv[2:]:
                continue
            print(case.__name__)
            case(folder)
    finish()


main()
