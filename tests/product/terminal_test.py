#!/usr/bin/env python3
"""The program in a terminal of 20 columns, in a dumb one, in tmux at 80 and 120 columns, in a pipe, and ended by Ctrl-C: its output, and the saved model.

terminal_test.py PROGRAM; exit code 77 when there is no tmux.
"""
import fcntl
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

from support import DEADLINE, PROGRAM, check, failures, finish


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, folder, columns):
        self.socket = os.path.join(folder, f"tmux-{columns}")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "40", "env", "-u", "TMUX", "PS1=$ ", "sh")
        self.tmux("set-option", "-g", "history-limit", "5000")

    def tmux(self, *words):
        environment = dict(os.environ, LC_ALL="C.UTF-8", LOCKSTEP_OFFLINE="1")
        return subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=environment, capture_output=True, text=True, check=True).stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def interrupt(self):
        self.tmux("send-keys", "C-c")

    def screen(self):
        return self.tmux("capture-pane", "-p", "-S", "-2000")

    def wait_for(self, pattern):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            text = self.screen()
            if re.search(pattern, text, re.MULTILINE):
                return text
            time.sleep(0.05)
        return self.screen()

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


def progress_bar(folder, columns):
    terminal = Terminal(folder, columns)
    try:
        terminal.type(f"cd {folder}; {PROGRAM} run mnist --quick --logical 2 --verbose; echo ended $?")
        moving = terminal.wait_for(r"^ *\d+/\d+ .*samples/s|^ *\d+/\d+ ━*─")
        screen = terminal.wait_for(r"^ended \d")
        check("ended 0" in screen, f"{columns} columns: a quick run ends well")
        bars = [line for line in screen.splitlines() if re.match(r"^ *\d+/\d+ ", line)]
        check(len(bars) == 1, f"{columns} columns: the bar stays on its line ({len(bars)} line(s) at the end)")
        partial = [line for line in moving.splitlines() if re.match(r"^ *\d+/\d+ ", line)]
        check(all(len(line) <= columns for line in partial), f"{columns} columns: the moving bar is not wider than the terminal")
        said = screen.splitlines()
        rows = [line for line in said if re.match(r"^ +[01] +\d+ +\d+\.\d{4} +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +\d+/\d+$", line)]
        check(len(rows) == 2 and all(int(line.split()[1]) == 3000 for line in rows), f"{columns} columns: --verbose has a line for each replica")
        phases = {match[1]: float(match[2]) for match in (re.match(r"^  (\S.*?\S) +[\d.]+ ms +(\d+) %", line) for line in said) if match}
        check(set(phases) >= {"shard", "local gradients", "all-reduce", "update", "barrier"} and 96 <= sum(phases.values()) <= 104,
              f"{columns} columns: where the time of a step went, by phase, adds up: {phases}")
        report = said[said.index("What to look at next:"):] if "What to look at next:" in said else []
        commands = [line for line in report if line.startswith("  lockstep ")]
        check(2 <= len(commands) <= 3, f"{columns} columns: two or three things to look at next {commands}")
        if columns == 80:
            start = next((number for number, line in enumerate(said) if line.startswith("Test accuracy")), 0)
            check(start > 0 and all(len(line) < 80 for line in said[start:] + rows), "80 columns: what a run says at its end fits")
    finally:
        terminal.close()


def in_a_pipe(folder):
    result = subprocess.run([PROGRAM, "run", "mnist", "--quick", "--logical", "2"], cwd=folder, capture_output=True, check=False,
                            env=dict(os.environ, LOCKSTEP_OFFLINE="1"), timeout=DEADLINE)
    text = result.stdout.decode()
    control = sorted({hex(ord(c)) for c in text if ord(c) < 32 and c != "\n"})
    check(result.returncode == 0, "in a pipe: a quick run ends well")
    check(not control, f"in a pipe: no control characters {control}")
    check("Where the time of a step went" in text and "What to look at next" in text, "in a pipe: says where the time went")


def ctrl_c_saves(folder, words, file):
    terminal = Terminal(folder, 100)
    try:
        terminal.type(f"cd {folder}; {PROGRAM} run mnist --epochs 100 --logical 2 {words}; echo ended $?")
        terminal.wait_for(r"^ *\d+/\d+ ")
        terminal.interrupt()
        screen = terminal.wait_for(r"^ended \d")
        check("ended 130" in screen, "Ctrl-C: ends with the shell's code for it")
        check("Stopped by Ctrl-C" in screen and f"Saved {file}" in screen, "Ctrl-C: says that it stopped, and where the model is")
    finally:
        terminal.close()
    result = subprocess.run([PROGRAM, "run", "mnist", "--quick", "--logical", "2", "--load", file], cwd=folder,
                            capture_output=True, text=True, check=False, env=dict(os.environ, LOCKSTEP_OFFLINE="1"), timeout=DEADLINE)
    steps = re.search(rf"Loaded {file}: (\d+) steps", result.stdout)
    check(result.returncode == 0 and steps is not None and int(steps.group(1)) > 0,
          f"Ctrl-C: the file loads and training goes on ({steps.group(0) if steps else result.stderr.strip()})")


def raw_output(folder, columns, kind):
    """All bytes of a quick run in a terminal of its own."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, "run", "mnist", "--quick", "--logical", "2", "--batch-per-replica", "8"], cwd=folder, stdout=slave, stderr=slave,
                               env=dict(os.environ, LOCKSTEP_OFFLINE="1", TERM=kind))
    os.close(slave)
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    os.close(master)
    return process.wait(), data.decode()


def narrow_and_dumb(folder):
    code, text = raw_output(folder, 20, "xterm")
    moving = [line.replace("\x1b[K", "") for line in re.findall(r"\r([^\r\n]*\x1b\[K)", text)]
    widest = max((len(line) for line in moving), default=0)
    check(code == 0 and moving and 0 < widest < 20, f"20 columns: {len(moving)} moving lines, at most {widest} wide")
    code, text = raw_output(folder, 80, "dumb")
    check(code == 0 and "\x1b" not in text and "\r" not in text.replace("\r\n", ""), "TERM=dumb: no control characters")


with tempfile.TemporaryDirectory() as where:
    narrow_and_dumb(where)
if shutil.which("tmux") is None:
    print("the rest is skipped: no tmux (apt-get install tmux)")
    sys.exit(1 if failures else 77)
with tempfile.TemporaryDirectory() as where:
    progress_bar(where, 80)
    progress_bar(where, 120)
    in_a_pipe(where)
    ctrl_c_saves(where, "--save kept.keras", "kept.keras")
    ctrl_c_saves(where, "", "mnist-interrupted.keras")
finish()
