#!/usr/bin/env python3
"""Proves one lesson: the exercise fails its tests, the solution passes them, and each mistake of mistakes.md fails with the words quoted there.

    prove.py LOCKSTEP FOLDER

mistakes.md has a heading for each mistake, below it a diff of solution.h and a quote of the message that the learner gets, in which `...` stands for any text.
Each hunk of a diff (lines with @@ between them) must match exactly one place of the solution, so a solution that changes under a mistake fails here.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

LOCKSTEP, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
MISTAKE = re.compile(r'^## ([^\n]*)\n\n```diff\n(.*?)^```\n\n((?:^>[^\n]*\n)+)', re.M | re.S)
EMPTY = str(FOLDER / 'no work')  # so that lessons that use others have their solutions
failures = []


def complain(what, output=''):
    failures.append(what)
    print(f'{FOLDER.name}: {what}')
    print(''.join(f'    {line}\n' for line in output.splitlines()), end='')


def attempt(file):
    """Exit status and output of `lockstep lesson N --file FILE`, with white space folded."""
    done = subprocess.run([LOCKSTEP, 'lesson', str(int(FOLDER.name[:2])), '--file', file, '--work', EMPTY], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, ' '.join(done.stdout.split()), done.stdout


def changed(solution, diff):
    """The solution with the diff applied; an AssertionError where a hunk does not match exactly one place."""
    for hunk in re.split(r'^@@\n', diff, flags=re.M):
        lines = hunk.splitlines(keepends=True)
        before, after = (''.join(line[1:] for line in lines if line[0] in signs) for signs in (' -', ' +'))
        places = len(re.findall('^' + re.escape(before), solution, re.M))
        assert places == 1 and before != after, f'this hunk matches {places} places of the solution, or changes nothing:\n{hunk}'
        solution = solution.replace(before, after)
    return solution


status, _, output = attempt(FOLDER / 'exercise.h')
if status != 1:
    complain(f'the exercise must compile and fail its tests, but the exit status is {status}', output)
if not re.search(r'^0 of \d+ tests pass', output, re.M):
    complain('no test of the exercise may pass: one that needs no code calls passes_without_code()', output)
status, _, output = attempt(FOLDER / 'solution.h')
if status != 0:
    complain(f'the solution must pass, but the exit status is {status}', output)

page = (FOLDER / 'mistakes.md').read_text()
mistakes = MISTAKE.findall(page)
if len(mistakes) < 3 or len(mistakes) != page.count('\n## '):
    complain(f'mistakes.md has {page.count(chr(10) + "## ")} headings and {len(mistakes)} mistakes that can be read; at least three are wanted')
with tempfile.TemporaryDirectory() as work:
    for title, diff, quote in mistakes:
        file = pathlib.Path(work) / 'wrong.h'
        try:
            file.write_text(changed((FOLDER / 'solution.h').read_text(), diff))
        except AssertionError as error:
            complain(f'"{title}": {error}')
            continue
        status, folded, output = attempt(file)
        if status != 1:
            complain(f'"{title}" must compile and fail, but the exit status is {status}', output)
        words = ' '.join(line[1:].strip() for line in quote.splitlines())
        if not re.search('.*'.join(re.escape(' '.join(part.split())) for part in words.split('...')), folded):
            complain(f'"{title}" must get the message: {words}', output)
questions = (FOLDER / 'questions.md').read_text() if (FOLDER / 'questions.md').is_file() else ''
read = re.findall(r'^## [^\n]+\n\n((?:- \w\. [^\n]+\n)*)\n?Answer: (\S+)\. \S', questions, re.M)
answers = [answer in re.findall(r'^- (\w)\.', choices, re.M) if choices else re.fullmatch(r'\d+(\.\d+)?', answer) for choices, answer in read]
if len(answers) != 2 or not all(answers):
    complain(f'questions.md must have two questions whose answer is a number or one of the choices; these can be read: {read}')
for name in ('lesson.md', 'hints.md'):
    if not (FOLDER / name).is_file():
        complain(f'has no {name}')
if not failures:
    print(f'{FOLDER.name}: the exercise fails, the solution passes, and {len(mistakes)} mistakes get their message')
sys.exit(bool(failures))
