#!/usr/bin/env python3
"""How runs end: a signal saves the model, a GPU that hangs is reported before the deadline, output that can't be written is an error, a mistake
is one sentence.

ends_test.py PROGRAM
"""
import json
import os
import pty
import signal
import subprocess
import tempfile

from support import DEADLINE, PROGRAM, check, environment, expect_sentence, finish, run, small_mnist, start


def signals(folder, data):
    for which, save, file in ((signal.SIGTERM, ["--save", "kept.keras"], "kept.keras"), (signal.SIGHUP, [], "mnist-interrupted.keras"),
                              (signal.SIGINT, ["--save", "c.keras"], "c.keras")):
        process = start("run", "mnist", "--epochs", "100000", "--batch", "64", *save, folder=folder, data=data)
        said = ""
        while "Epoch 3/" not in said:
            line = process.stdout.readline()
            if not line:
                break
            said += line
        process.send_signal(which)
        rest, errors = process.communicate(timeout=DEADLINE)
        name = which.name
        check(process.returncode == 128 + which, f"{name}: ends with code {128 + which} (got {process.returncode}) {errors.strip()}")
        check(f"Stopped by {'Ctrl-C' if which == signal.SIGINT else name}" in rest and f"Saved {file}" in rest, f"{name}: says that and where it saved")
        more = run("run", "mnist", "--epochs", "1", "--batch", "64", "--load", file, folder=folder, data=data)
        check(more.returncode == 0 and "starts over" not in more.stdout, f"{name}: training continues from the file")
    # Ctrl-C in a terminal reaches the workers twice: from the terminal, and from the process that started them.
    process = subprocess.Popen([PROGRAM, "run", "mnist", "--workers", "2", "--epochs", "100000", "--save", "w.keras"], cwd=folder, env=environment(data),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    for line in process.stdout:
        if line.startswith("Epoch 3/"):
            break
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=DEADLINE)
    check(process.returncode == 130 and "Saved w.keras" in rest, f"Ctrl-C with --workers: saves (code {process.returncode}) {rest[:80]}")
    # A closed terminal: SIGHUP, and nothing can be printed.
    child, master = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(PROGRAM, [PROGRAM, "run", "mnist", "--verbose", "--epochs", "100000", "--save", "h.keras"], environment(data))
    said = b""
    while b"Epoch 3/" not in said:
        said += os.read(master, 65536)
    os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    check(code in (1, 129) and os.path.exists(os.path.join(folder, "h.keras")), f"a terminal that is closed: the model is saved (code {code})")
    nohup = subprocess.Popen([PROGRAM, "run", "mnist", "--epochs", "30", "--json"], cwd=folder, env=environment(data), stdout=subprocess.PIPE,
                             text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    nohup.stdout.readline()
    nohup.send_signal(signal.SIGHUP)
    nohup.communicate(timeout=DEADLINE)
    check(nohup.returncode == 0, "nohup: SIGHUP is ignored")


def hanging_gpus(folder, data):
    for place in ("operation:40:hang", "operation:900:hang"):
        for more in ([], ["--trace", "step.json"], ["--gpus", "2"]):
            result = run("run", "mnist", "--epochs", "3", *more, folder=folder, data=data, LOCKSTEP_DEADLINE="2", LOCKSTEP_SIM_FAULT=place)
            expect_sentence(result, f"{place} {' '.join(more)}", "had not finished after 2")
    endless = run("run", "mnist", "--quick", folder=folder, data=data, LOCKSTEP_DEADLINE="inf")
    check(endless.returncode == 0, f"LOCKSTEP_DEADLINE=inf is no deadline {endless.stderr.strip()}")
    for name in ("cudaMaloc:3", "ncclAllReduces", "cublasLtMatmull:1"):
        wrong = run("run", "mnist", "--quick", folder=folder, data=data, LOCKSTEP_SIM_FAULT=name)
        check(wrong.returncode == 1 and f'"{name}" is not understood' in wrong.stderr, f"the fault {name} is refused: {wrong.stderr.strip()[:90]}")


def full_output(folder, data):
    for words, what in ((["run", "mnist", "--epochs", "2", "--json", "--save", "full.keras"], "--json"),
                        (["run", "mnist", "--epochs", "2", "--verbose", "--save", "full.keras"], "--verbose"),
                        (["devices"], "devices"), (["--help"], "--help"), (["--version"], "--version")):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([PROGRAM, *words], cwd=folder, env=environment(data), stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=DEADLINE, check=False)
        check(result.returncode != 0 and "No space left" in result.stderr, f"output to /dev/full, {what}: code {result.returncode}, {result.stderr.strip()}")
        if "full.keras" in words:
            check(os.path.exists(os.path.join(folder, "full.keras")), f"output to /dev/full, {what}: the model is saved")
            os.remove(os.path.join(folder, "full.keras"))


def numbers_that_are_none(folder, data):
    run("run", "mnist", "--quick", "--save", "nan.h5", folder=folder, data=data)
    with open(os.path.join(folder, "nan.h5"), "r+b") as file:
        for megabyte in (1, 4, 7):  # the weights of the large layer, and what the optimizer keeps for them
            file.seek(megabyte << 20)
            file.write(b"\0\0\xc0\x7f" * 10000)
    with open(os.path.join(folder, "grey.bmp"), "wb") as file:
        pixels = bytes([128]) * (28 * 28 * 3)
        file.write(b"BM" + (54 + len(pixels)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little") +
                   (28).to_bytes(4, "little") * 2 + b"\1\0\x18\0" + bytes(24) + pixels)
    expect_sentence(run("predict", "nan.h5", "grey.bmp", folder=folder), "predict with weights that are NaN", "nan.h5 gives NaN")


def sentences(folder, data):
    expect_sentence(run("project", "mnist", "--batch-per-replica", "1048576", "--nodes", "1", "--gpus", "64", folder=folder), "a projection too large for this machine",
                    "GiB on the host", code=2)
    shares = run("run", "mnist", "--quick", "--logical", "16", folder=folder, data=data)
    check(shares.returncode == 0 and "16 Logical GPUs" in shares.stdout, f"--logical 16 without a limit: an equal share {shares.stderr.strip()}")
    alone = run("run", "mnist", "--quick", folder=folder, data=data, LOCKSTEP_WORKER="1")
    expect_sentence(alone, "LOCKSTEP_WORKER alone", "LOCKSTEP_WORKERS")
    three = run("run", "mnist", "--quick", "--epochs", "3", "--json", folder=folder, data=data)
    epochs = [line for line in map(json.loads, three.stdout.splitlines()) if "epoch" in line]
    check(len(epochs) == 3, f"--quick --epochs 3: three epochs of a tenth ({len(epochs)})")
    nowhere = os.path.join(folder, "empty")
    os.mkdir(nowhere)
    drawn = json.loads(run("run", "mnist", "--quick", "--json", folder=nowhere).stdout.splitlines()[0])
    given = json.loads(three.stdout.splitlines()[0])
    check(drawn["data"]["drawn"] is True and given["data"]["drawn"] is False, f"--json names drawn digits: {drawn}")


with tempfile.TemporaryDirectory() as where:
    samples = small_mnist(where + "/data", 2000)
    signals(where, samples)
    hanging_gpus(where, samples)
    full_output(where, samples)
    numbers_that_are_none(where, samples)
    sentences(where, samples)
finish()
