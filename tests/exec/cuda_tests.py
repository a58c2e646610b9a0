#!/usr/bin/env python3
"""The cuda preset's own test programs run under `lockstep exec`: their kernels are the PTX that nvcc put into them.

Usage: cuda_tests.py LOCKSTEP BUILD ROOM MACHINE... [--check] [--planted]

BUILD is the folder of the cuda preset. The program test_ROOM runs on each machine. It prints how many tests passed, failed and were skipped,
and the reason of each skip. --check: in check mode too. --planted: a launch that fails must make tests fail. Ends with 77 where there is no
such program.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

SKIPPED = 77
# Skips that would hide that nothing ran: these machines have enough cards, and their driver is never too old.
HIDES_A_GAP = re.compile(r'cards|gpu|driver|not supported', re.IGNORECASE)


def run(lockstep, program, machine, *words, fault=''):
    """The numbers of passed and failed tests, the reasons of skips with their numbers, and problems as text."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('LOCKSTEP_SIM_')}
    if fault:
        environment['LOCKSTEP_SIM_FAULT'] = fault
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / 'results.xml'
        done = subprocess.run([lockstep, 'exec', '--machine', machine, *words, program, f'--gtest_output=xml:{results}'], env=environment,
                              cwd=folder, capture_output=True, text=True, errors='replace')
        said = done.stdout + done.stderr
        if not results.exists():
            return 0, 0, {}, f'ended with {done.returncode} before its results were written: {said[-2000:]}'
        cases = list(tree.parse(results).getroot().iter('testcase'))
    failed = [case for case in cases if case.find('failure') is not None]
    reasons = collections.Counter()
    for case in cases:
        skip = case.find('skipped')
        if skip is not None:
            reason = skip.get('message', '').partition('\n')[2].strip()
            reasons[re.sub(r'^skipped:? *', '', reason) or 'no reason given'] += 1
    problems = [f'{case.get("classname")}.{case.get("name")}: {case.find("failure").get("message", "")[:600]}' for case in failed[:5]]
    if bool(failed) != bool(done.returncode):
        problems.append(f'ended with {done.returncode}: {said[-600:]}')
    problems += [f'a skip that hides a gap: {reason}' for reason in reasons if HIDES_A_GAP.search(reason)]
    return len(cases) - len(failed) - sum(reasons.values()), len(failed), reasons, '\n'.join(problems)


def configured_for(build, architecture):
    """A folder of the cuda preset keeps the architectures that it was first configured with."""
    found = re.search(r'^CMAKE_CUDA_ARCHITECTURES:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.MULTILINE)
    return found is not None and architecture in found[1].split(';')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lockstep', type=os.path.abspath)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('room')
    parser.add_argument('machine', nargs='+')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--planted', action='store_true')
    options = parser.parse_args()
    program = options.build.absolute() / 'tests' / f'test_{options.room}'
    if not program.exists():
        print(f'skipped: the cuda preset is not built here: {program} is missing')
        return SKIPPED
    good = True
    for machine in options.machine:
        if machine.endswith('t4') and not configured_for(options.build, '75'):
            print(f'{options.room} on {machine}: left out, {options.build} was configured without PTX for compute_75. Fix: remove it')
            continue
        for words in ([], ['--check', 'all']) if options.check else ([],):
            passed, failed, reasons, problems = run(options.lockstep, program, machine, *words)
            print(f'{options.room} on {" ".join([machine, *words])}: {passed} passed, {failed} failed, {sum(reasons.values())} skipped')
            for reason, count in sorted(reasons.items()):
                print(f'  {count} skipped: {reason}')
            if problems:
                print(problems)
            good = good and passed > 0 and not problems
        if options.planted:
            _, failed, _, _ = run(options.lockstep, program, machine, fault='launch:5')
            print(f'{options.room} on {machine} with a launch that fails: {failed} failed')
            good = good and failed > 0
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
