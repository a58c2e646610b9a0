"""Shared by the tests of several workers: small data, workers started one by one, and the messages of their meeting."""
import hashlib
import hmac
import os
import shutil
import socket
import struct
import subprocess

from support import PROGRAM, small_mnist

SECRET = "a secret of this test only"
GREETING = "<Iiii16s4096s32s"  # the messages of engine/distribute/workers
CHALLENGE = "<II16s"
ANSWER = "<IiiI128s512s32s"


def worker_mnist(data, seed=1):
    """A data folder with 480 and 48 images."""
    return small_mnist(os.path.join(data, "mnist"), 480, 48, seed)


def small_photos(folder, source, train=24, validation=8):
    """The first photos of each class of a larger folder."""
    for part, count in (("train", train), ("validation", validation)):
        for kind in ("cats", "dogs"):
            there = os.path.join(source, part, kind)
            os.makedirs(os.path.join(folder, part, kind))
            for name in sorted(os.listdir(there))[:count // 2]:
                shutil.copy(os.path.join(there, name), os.path.join(folder, part, kind))


def free_port(family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        return listener.getsockname()[1]


def worker_environment(data, **more):
    """A value of None leaves the variable out."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKSTEP_", "NCCL_", "OMPI_"))}
    own.update({"LOCKSTEP_OFFLINE": "1", "LOCKSTEP_DATA": data, "LOCKSTEP_SIM_WORKERS": "1", "NCCL_SOCKET_IFNAME": "lo"})
    own.update({name: str(value) for name, value in more.items() if value is not None})
    return own


def start(arguments, data, **more):
    return subprocess.Popen([PROGRAM, "run", *arguments], env=worker_environment(data, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, errors="backslashreplace")


def start_worker(arguments, data, worker, workers, address, secret=SECRET, **more):
    return start(arguments, data, LOCKSTEP_WORKER=worker, LOCKSTEP_WORKERS=workers, LOCKSTEP_ADDRESS=address, LOCKSTEP_SECRET=secret, **more)


def receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            break
        data += more
    return data


def greet(connection, worker=1, workers=2, secret=SECRET, facts=b""):
    """Receives the challenge and greets as that worker. Returns the greeting."""
    challenge = receive(connection, struct.calcsize(CHALLENGE))
    greeting = struct.pack(GREETING, 0x4c535711, worker, workers, 1, os.urandom(16), facts, b"")
    proof = hmac.new(secret.encode(), b"greeting" + challenge + greeting, hashlib.sha256).digest()
    greeting = greeting[:-32] + proof
    connection.sendall(greeting)
    return greeting


def listening_ports(pid):
    """Address and port of every listening socket of a process, IPv4 and IPv6, as /proc writes addresses; none when it has ended."""
    found = []
    try:
        inodes = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
                for line in file.readlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                        address, port = fields[1].split(":")
                        found.append((address, int(port, 16)))
    except OSError:  # the process, or one of its descriptors, is gone
        pass
    return found
