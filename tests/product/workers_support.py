"""What tests of several workers share: small data, workers started one by one, and the words with which they meet."""
import hashlib
import hmac
import json
import os
import shutil
import socket
import struct
import subprocess

SECRET = "a secret of this test only"
GREETING = "<Iiii16s4096s32s"  # engine/distribute/workers/worker_words.h
CHALLENGE = "<II16s"
ANSWER = "<IiiI128s512s32s"


def small_mnist(folder, brighter=0):
    """Four files in MNIST's format with 480 and 48 images; `brighter` makes other data of it."""
    os.makedirs(folder, exist_ok=True)
    for stem, count in (("train", 480), ("t10k", 48)):
        pixels = bytearray((3 * i + i // 784 * 7 + brighter) % 256 for i in range(784 * count))
        with open(os.path.join(folder, f"{stem}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
        with open(os.path.join(folder, f"{stem}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count)))


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


def environment(data, **more):
    """Of a worker; a value of None leaves the variable out."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKSTEP_", "NCCL_", "OMPI_"))}
    own.update({"LOCKSTEP_OFFLINE": "1", "LOCKSTEP_DATA": data, "LOCKSTEP_SIM_WORKERS": "1", "NCCL_SOCKET_IFNAME": "lo"})
    own.update({name: str(value) for name, value in more.items() if value is not None})
    return own


def start(program, words, data, folder=None, **more):
    return subprocess.Popen([program, "run", *words], env=environment(data, **more), cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="backslashreplace")


def start_worker(program, words, data, worker, workers, address, secret=SECRET, **more):
    return start(program, words, data, LOCKSTEP_WORKER=worker, LOCKSTEP_WORKERS=workers, LOCKSTEP_ADDRESS=address, LOCKSTEP_SECRET=secret, **more)


def checksums(text):
    """Of the replicas, from what --json prints."""
    for line in text.splitlines():
        if '"summary"' in line:
            return json.loads(line)["summary"]["checksums"]
    return []


def receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            break
        data += more
    return data


def greet(connection, worker=1, workers=2, secret=SECRET, facts=b""):
    """Hears the challenge and greets as that worker. Returns what was sent."""
    challenge = receive(connection, struct.calcsize(CHALLENGE))
    greeting = struct.pack(GREETING, 0x4c535711, worker, workers, 1, os.urandom(16), facts, b"")
    proof = hmac.new(secret.encode(), b"greeting" + challenge + greeting, hashlib.sha256).digest()
    greeting = greeting[:-32] + proof
    connection.sendall(greeting)
    return greeting


def listening_ports(pid):
    """Address and port of every listening socket of a process, IPv4 and IPv6, as /proc writes addresses."""
    try:
        inodes = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    except OSError:
        return []
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                    address, port = fields[1].split(":")
                    found.append((address, int(port, 16)))
    return found
