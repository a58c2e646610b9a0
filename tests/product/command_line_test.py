#!/usr/bin/env python3
"""Gives every option of every command a bad value: the program prints one line that says what would be right, exits with 2 and writes nothing.

An option that `--help` shows and this table does not know is a failure, so none can be added without its bad values.
"""
import os
import re
import tempfile

from support import check, finish, run

# command -> (valid arguments, {option: [(bad value, part of the message)]}). None: a switch, which takes no value.
WHOLE = "is not a whole number from"
RUN = {
    "--gpus": [("0", WHOLE), ("two", WHOLE), ("65", WHOLE), ("1.5", WHOLE)],
    "--logical": [("-1", WHOLE), ("", WHOLE)],
    "--devices": [("cpu:0", "is not the name of a GPU"), ("gpu:", "is not the name of a GPU")],
    "--memory-limit": [("15", WHOLE), ("1GB", WHOLE)],
    "--workers": [("0", WHOLE)],
    "--strategy": [("mirored", "did you mean mirrored?")],
    "--all-reduce": [("rign", "did you mean ring?"), ("xyzzy", "is none of nccl, ring, tree")],
    "--epochs": [("0", WHOLE), ("1e3", WHOLE), ("99999999999999999999", WHOLE)],
    "--batch-per-replica": [("0", WHOLE)],
    "--batch": [("-4", WHOLE)],
    "--learning-rate": [("0", "is not a number above 0"), ("fast", "is not a number above 0"), ("nan", "is not a number above 0")],
    "--seed": [("-1", WHOLE)],
    "--alpha": [("0", "is not a number above"), ("wide", "is not a number above")],
    "--image": [("31", WHOLE)],
    "--feature-extraction": [("nothing.npz", "there is no file")],
    "--load": [("nothing.h5", "there is no file"), ("model.txt", "ends in .keras, .h5 or .weights.h5"), (".", "ends in .keras")],
    "--save": [("nowhere/model.h5", "there is no folder"), ("model.pt", "ends in .keras, .h5 or .weights.h5")],
    "--backup-batches": [("0", WHOLE)],
    "--backup": [("", "is not the name of a folder"), ("a_file", "is a file, not a folder")],
    "--trace": [("nowhere/step.json", "there is no folder"), ("step.txt", "does not end in .html or .json")],
    "--flip-bit": [("", "is not a bit to flip"), ("replica=1,step=2", "is not a bit to flip"), ("replica=1,variable=w,step=0", "is not a bit to flip")],
    "--trace-steps": [("0", WHOLE)], "--trace-inspect": [("-1", WHOLE)],
    "--machine": [("h200x8", "known machines are"), ("nothing.json", "can't be read")],
    "--nodes": [("0", WHOLE)],
    "--clock": [("modle", "did you mean model?")],
    "--overlap": [("yes", "is none of on, off")],
    "--bucket": [("0", "is not a number above 0")],
    "--no-math": None, "--quick": None, "--as-published": None, "--check-mirrored": None, "--json": None, "--verbose": None,
}
COMMANDS = {
    "run": (["mnist"], RUN),
    "compare": (["mnist"], {
        "--gpus": [("1,x", WHOLE), ("0", WHOLE)], "--logical": [("1,0", WHOLE)], "--batch": [("0", WHOLE)], "--epochs": [("0", WHOLE)],
        "--seed": [("x", WHOLE)], "--json": None}),
    "predict": (["model.h5", "picture.png"], {
        "--classes": [], "--top": [("0", WHOLE)], "--invert": None, "--json": None}),
    "project": (["mnist"], {
        "--machine": [("h200x8", "known machines are")], "--overlap": [("yes", "is none of on, off")],
        "--bucket": [("-1", "is not a number above 0")], "--nodes": [("0", "from 1 to 1024"), ("4..2", "the smaller one"), ("1,x", "from 1 to 1024")],
        "--batch-per-replica": [("0", WHOLE)], "--global-batch": [("0", WHOLE)], "--gpus": [("0", WHOLE)], "--logical": [("0", WHOLE)],
        "--algorithm": [("rign", "did you mean ring?")], "--slow-gpu": [("x", "17:1.3")], "--svg": [("nowhere/a.svg", "there is no folder")],
        "--ranks": [("1", WHOLE), ("many", WHOLE)], "--bytes": [("0", WHOLE), ("1.5", WHOLE), ("-8", WHOLE)],
        "--precision": [("fp8", "is none of fp32, tf32, amp")], "--inference": None,
        "--framework": [("pytorch", "is none of lockstep, tensorflow")], "--json": None, "--validate": None, "--fit": None}),
    "data": ([], {"--fetch": [("minst", "did you mean mnist?")]}),
    "devices": ([], {"--json": None}),
    "doctor": ([], {}),
    "lesson": (["1"], {
        "--file": [("nothing.h", "there is no file")], "--work": [("a_file", "is a file, not a folder")], "--hint": None, "--verbose": None,
        "--predict": [("40", "--predict needs 2 answers"), ("70,d", "question 2 has the answers a, b, c"), ("many,b", "question 1 asks for a number")],
        "--solution": None, "--watch": None, "--reset": None, "--all": None, "--json": None}),
    "exam": (["1"], {
        "--seed": [("-1", WHOLE), ("one", WHOLE)], "--answer": [("nothing.txt", "there is no file")], "--work": [("a_file", "is a file, not a folder")],
        "--solution": None, "--json": None}),
    "trace": (["a_file"], {}),
    "exec": ([], {
        "--machine": [("h200x8", "known machines are")], "--nodes": [("0", WHOLE)], "--clock": [("modle", "did you mean model?")],
        "--check": [("memroy", "is not a list of checks"), ("memory,", "is not a list of checks")], "--no-math": None, "--counts": None,
        "--manifest": None}),
}
# Arguments that are wrong in other ways.
OTHER = [
    ([], "a command is missing"),
    (["rnu"], "did you mean run?"),
    (["notebok"], "did you mean notebook?"),
    (["bundle"], "is a command of the script in the sources: ./lockstep bundle"),
    (["run"], "workload is required"),
    (["run", "minst"], "did you mean mnist?"),
    (["run", "mnist", "--epoch", "3"], "did you mean --epochs?"),
    (["run", "mnist", "--epochs"], "--epochs needs a value"),
    (["run", "mnist", "reuters"], "is not an option of this command"),
    (["run", "mnist", "--gpus", "2", "--logical", "2"], "can't be combined with"),
    (["run", "mnist", "--memory-limit", "100"], "only for --logical"),
    (["run", "mnist", "--batch", "8", "--batch-per-replica", "4"], "can't be combined with"),
    (["predict", "nothing.h5", "nothing.png"], "there is no file"),
    (["exec"], "a program is missing"),
    (["lesson", "four"], WHOLE),
    (["lesson", "4", "--all"], "can't be combined with"),
    (["lesson", "--hint"], "is only for number"),
    (["exam", "one"], WHOLE),
    (["exam", "--solution"], "is only for number"),
    (["trace", "nothing.html"], "there is no file"),
    (["run", "mnist", "--trace-steps", "3"], "only for --trace"),
    (["run", "mnist", "--verbose", "--json"], "can't be combined with"),
    (["run", "mnist", "--alpha", "1"], "--alpha is only for cats-vs-dogs"),
    (["run", "reuters", "--image", "64"], "--image is only for cats-vs-dogs"),
    (["run", "mnist", "--as-published"], "--as-published is only for cats-vs-dogs"),
    (["run", "mnist", "--feature-extraction", "a_file"], "--feature-extraction is only for cats-vs-dogs"),
    (["run", "mnist", "--workers", "2", "--devices", "gpu:7"], "--devices names GPUs of one process"),
    (["run", "mnist", "--workers", "2", "--strategy", "one-device"], "--strategy one-device is for one process"),
    (["run", "mnist", "--workers", "2", "--strategy", "mirrored"], "--strategy mirrored is for one process"),
    (["run", "mnist", "--workers", "2", "--logical", "2"], "--logical splits a GPU of one process"),
    (["run", "mnist", "--save", "pipe.keras"], "is a pipe or a device"),
    (["run", "mnist", "--save", "dangling.keras"], "is a link to 'nowhere/m.keras', which does not exist"),
    (["run", "mnist", "--trace", "pipe.html"], "is a pipe or a device"),
    (["run", "mnist", "--load", "pipe.keras"], "is a pipe or a device"),
    (["predict", "pipe.keras", "picture.png"], "is a pipe or a device"),
    (["predict", "model.h5", "pipe.keras"], "is a pipe or a device"),
    (["trace", "pipe.html"], "is a pipe or a device"),
    (["project", "minst"], "did you mean mnist?"),
    (["project", "all-reduce"], "--bytes 1048576"),
    (["project", "all-reduce", "--machine", "a100x8", "--bytes", "8", "--nodes", "2", "--ranks", "20"], "--nodes 3"),
    (["project", "mnist", "--ranks", "2"], "--ranks and --bytes are of project all-reduce"),
    (["project", "mnist", "--precision", "amp"], "--precision and --inference are of project resnet50"),
    (["project", "resnet50", "--machine", "t4", "--precision", "tf32"], "without TF32 units"),
    (["--version=3"], "--version is a switch"),
    (["run", "--help=3"], "--help is a switch"),
]


def expect_refusal(words, sentence):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a_file", "model.h5", "picture.png"):
            open(os.path.join(folder, name), "w", encoding="ascii").close()
        for name in ("pipe.keras", "pipe.html"):
            os.mkfifo(os.path.join(folder, name))
        os.symlink("nowhere/m.keras", os.path.join(folder, "dangling.keras"))
        before = sorted(os.listdir(folder))
        result = run(*words, folder=folder)
        lines = result.stderr.splitlines()
        problems = []
        if result.returncode != 2:
            problems.append(f"exit code {result.returncode}, not 2")
        if len(lines) != 1 or result.stdout:
            problems.append(f"{len(lines)} lines of errors and {len(result.stdout)} characters of output, not one line")
        if sentence not in result.stderr:
            problems.append(f"'{sentence}' is not in: {result.stderr.strip()}")
        if sorted(os.listdir(folder)) != before:
            problems.append("files were written")
        if problems:
            check(False, f"{' '.join(words)}: " + "; ".join(problems))


def options_shown(command):
    text = run(command, "--help").stdout
    return set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE))


def commands_shown():
    text = run("--help").stdout
    return re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:"):text.index("Examples:")], re.MULTILINE)


checked = 0
for name in commands_shown():
    check(name in COMMANDS, f"the command {name} is in this test's table")
for name, (right, options) in COMMANDS.items():
    for option in options_shown(name) - set(options):
        check(False, f"{name} {option} is in this test's table")
    expect_refusal([name, *right, "--no-such-option"], "is not an option of this command")
    for option, values in options.items():
        if values is None:  # a switch takes no value at all
            for value in ("3", "true", "false", "0", ""):
                expect_refusal([name, *right, f"{option}={value}"], f"{option} is a switch and takes no value")
                checked += 1
        for value, sentence in values or []:
            extra = {"--memory-limit": ["--logical", "2"], "--backup-batches": ["--backup", "folder"],
                     "--trace-steps": ["--trace", "step.html"], "--trace-inspect": ["--trace", "step.html"]}.get(option, [])
            expect_refusal([name, *right, *extra, option, value], sentence)
            checked += 1
for words, sentence in OTHER:
    expect_refusal(words, sentence)
    checked += 1

print(f"{checked} bad values tried")
finish()
