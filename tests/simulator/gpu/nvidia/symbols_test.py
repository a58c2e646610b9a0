"""Every C function that NVIDIA's library exports is in ours, with the same version; counts of those that are written and those that refuse.

Usage: symbols_test.py OUR_FOLDER LIST_FOLDER [TOOLKIT_LIBRARIES]. Without the toolkit the lists in the repository are compared.
"""
import pathlib
import re
import subprocess
import sys

LIBRARIES = ('libcudart.so.13', 'libnccl.so.2', 'libcublasLt.so.13', 'libcublas.so.13', 'libcudnn.so.9')
# Functions that must not turn into refusals unnoticed.
FEWEST_WRITTEN = {'libcudart.so.13': 115, 'libnccl.so.2': 24, 'libcublasLt.so.13': 20, 'libcublas.so.13': 19, 'libcudnn.so.9': 14}
INTERFACE = re.compile(r'^(__cuda|cuda|p?nccl|cublas|cudnn)')


def exported(library):
    """Names with versions, and whether each is weak."""
    lines = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        _, kind, name = line.split()
        if kind in 'TWVi' and INTERFACE.match(name):
            found[name] = kind == 'W'
    return found


def main():
    ours_folder, lists = (pathlib.Path(argument) for argument in sys.argv[1:3])
    toolkit = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    bad = 0
    for name in LIBRARIES:
        ours = exported(ours_folder / name)
        plain = {re.sub('@.*', '', symbol) for symbol in ours}
        listed = {line.split()[0] for line in (lists / f'{name}.txt').read_text().splitlines()}
        missing = listed - plain
        if toolkit and (toolkit / name).exists():
            missing |= set(exported(toolkit / name)) - set(ours)
            compared = 'the real library'
        else:
            compared = 'the list alone: no toolkit here'
        first = [weak for symbol, weak in ours.items() if not symbol.startswith('p')]  # pncclX is ncclX
        written = len(first) - sum(first)
        print(f'{name}: {len(listed)} functions, {written} written, {len(first) - written} refused, {len(missing)} missing (against {compared})')
        for symbol in sorted(missing)[:10]:
            print(f'  missing: {symbol}')
        bad += bool(missing) or written < FEWEST_WRITTEN[name]
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
