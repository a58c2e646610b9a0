#!/usr/bin/env python3
"""Programs that nvcc makes run unchanged under `lockstep exec`: right results, and a planted mistake is found and named.

Usage: exec_test.py LOCKSTEP NVCC FOLDER [PROGRAM...]. Prints a line for each program and how many passed.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def settings(source):
    """The first lines' `// key: value`, and the line of the planted mistake."""
    lines = source.read_text().splitlines()
    found = {}
    for line in lines:
        entry = re.match(r'// (mistake|machine|arch|link|prints|mpi|check|counts): (.*)', line)
        if not entry:
            break
        found[entry[1]] = entry[2]
    planted = [number for number, line in enumerate(lines, 1) if line.endswith('// planted')]
    # A call over two lines ends in the marked one; its __LINE__ may be either.
    found['lines'] = '|'.join(str(number - back) for number in planted for back in (0, 1))
    return found


def run(lockstep, source, folder, nvcc):
    wanted = settings(source)
    program = folder / source.stem
    start, options = [], wanted.get('link', '').split()
    if 'mpi' in wanted:
        if not (shutil.which('mpirun') and shutil.which('mpicxx')):
            return 'skipped: there is no MPI'
        start = ['mpirun', '-n', wanted['mpi'], '--oversubscribe', '--allow-run-as-root']
        for ask, option in (('incdirs', '-I'), ('libdirs', '-L'), ('libs', '-l')):
            told = subprocess.run(['mpicxx', f'--showme:{ask}'], check=True, capture_output=True, text=True).stdout
            options += [option + word for word in told.split()]
    arch = 'compute_' + wanted.get('arch', '75')
    compiled = subprocess.run([nvcc, '-cudart', 'shared', '-gencode', f'arch={arch},code={arch}', '-lineinfo', '-std=c++17',
                               f'-I{HERE.parent.parent}', str(source), '-o', str(program), *options],
                              capture_output=True, text=True)
    if compiled.returncode:
        return f'does not compile: {compiled.stderr[-600:]}'
    command = [*start, lockstep, 'exec', '--machine', wanted.get('machine', 't4')]
    # Each in check mode too, which must have nothing to say about a right program.
    for check in ([], ['--check', 'all']):
        right = subprocess.run([*command, *check, str(program)], capture_output=True, text=True, timeout=120)
        said = right.stdout + right.stderr
        if right.returncode or 'ok' not in right.stdout or 'virtual GPU' in said or not re.search(wanted.get('prints', ''), said):
            return f'{" ".join(check)} returned {right.returncode}: {said[-600:]}'
    if 'counts' in wanted:
        counted = subprocess.run([*command, '--counts', str(program)], capture_output=True, text=True, timeout=120)
        if counted.returncode or not re.search(wanted['counts'], counted.stderr, re.S):
            return f'--counts returned {counted.returncode}, without {wanted["counts"]}: {counted.stderr[-2000:]}'
    check = ['--check', wanted['check']] if 'check' in wanted else []
    wrong = subprocess.run([*command, *check, str(program), 'mistake'], capture_output=True, text=True, timeout=120)
    said = wrong.stdout + wrong.stderr
    if wrong.returncode <= 0:
        return f'the planted mistake gave {wrong.returncode}: {said[-600:]}'
    pattern = wanted['mistake'].replace('{line}', rf'line (?:{wanted["lines"]})\b')
    if not re.search(pattern, said, re.S):
        return f'the planted mistake is not named ({pattern}): {said[-600:]}'
    return ''


def main():
    lockstep, nvcc, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    chosen = sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    for name in [name for name in os.environ if name.startswith('LOCKSTEP_SIM_')]:
        del os.environ[name]
    sources = sorted(source for source in HERE.glob('*.cu') if not chosen or source.stem in chosen)
    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for source, problem in zip(sources, pool.map(lambda source: run(lockstep, source, folder, nvcc), sources)):
            print(f'{source.stem}: {problem or "right; the mistake is found"}', flush=True)
            skipped += problem.startswith('skipped')
            failed += bool(problem) and not problem.startswith('skipped')
    kinds = len({settings(source)['mistake'] for source in sources})
    print(f'{len(sources)} programs with {kinds} kinds of mistakes, {len(sources) - failed - skipped} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
