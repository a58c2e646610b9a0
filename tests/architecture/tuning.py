#!/usr/bin/env python3
"""Tuning has one home: <backend/tuning.h>, once for a GPU and once for the virtual one.

Usage: tuning.py [ROOT]

Both twins have the same names; numbers that decide the order of sums (namespace sum_order) have the same values, since results would differ otherwise;
above each number a comment says where it was measured, or "not measured" and why it was chosen; each is used; and no other number like them is left in
the engine's kernels, operations and collectives, but for those listed here. Exit code 1 where one breaks this.
"""
import pathlib
import re
import sys

TWINS = {'GPU': 'engine/cuda/backend/tuning.h', 'virtual GPU': 'simulator/gpu/backend/tuning.h'}
FOLDERS = ('engine/kernels', 'engine/ops', 'engine/nn', 'engine/device', 'engine/distribute/collectives')
NUMBER = re.compile(r'\bconstexpr\s+(?:std::)?(?:u?int\d+_t|int|size_t)\s+(k\w+)\s*=\s*(\d+|std::\w+\{\d+\}\s*<<\s*\d+)\s*[;,]')
# Whole numbers that are no choice of speed.
OTHERS = {
    'kAlignment': 'what cudaMalloc promises and cuBLASLt asks for',
    'kTensorAlignment': 'what cudaMalloc promises',
    'kMost': 'as many as the kernel has arguments',
    'kMostAdded': 'as many as the kernel has arguments',
    'kPoolWidth': 'the pooling that this kernel is for',
    'kChannels': 'channels come in multiples of this where the fused kernel is used',
    'kEach': 'how a loop is unrolled, in widths of the twins',
    'kWarp': 'the threads of a warp',
    'kRightAligned': "a column of Keras' table",
    'kYields': 'how often a host thread asks before it sleeps: not a matter of the backend',
}


def numbers(text):
    """{(namespace, name): (value, comment above it)}; where values depend on the instruction set, all of them."""
    found, space, comment, before = {}, '', '', ''
    for line in text.split('\n'):
        if opened := re.match(r'namespace lockstep::(\w+) \{', line):
            space = opened[1]
        if line.startswith('//'):
            comment = f'{comment}\n{line}' if before.startswith('//') else line
        elif not line.startswith(('#', 'inline')):
            comment = ''
        before = line
        if line.startswith('inline constexpr'):
            for name, value in re.findall(r'(k\w+) = ([^,;]+(?:\{[^}]*\}[^,;]*)?)', line):
                other = found.get((space, name), ('', ''))[0]
                found[space, name] = ((other + ' or ' if other else '') + value.strip(), comment)
    return found


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    breaks = []
    twins = {title: numbers((root / path).read_text()) for title, path in TWINS.items()}
    gpu, virtual = twins.values()
    for one in sorted(gpu.keys() ^ virtual.keys()):
        breaks.append(f'{"::".join(one)} is in one twin only')
    for one in sorted(gpu.keys() & virtual.keys()):
        if one[0] == 'sum_order' and gpu[one][0] != virtual[one][0]:
            breaks.append(f'{"::".join(one)} is {gpu[one][0]} for a GPU and {virtual[one][0]} for the virtual one: their results would differ')
    for title, found in twins.items():
        for one, (_, comment) in found.items():
            if not re.search(r'\bmeasured\b', comment, re.I):
                breaks.append(f'{TWINS[title]}: no comment says where {"::".join(one)} was measured, or why it was chosen')
    sources = {path: path.read_text() for folder in (*FOLDERS, 'engine/distribute', 'simulator/gpu/backend') for path in sorted((root / folder).rglob('*'))
               if path.suffix in ('.h', '.cc', '.cu') and path.name != 'tuning.h'}
    used = set(re.findall(r'\bk\w+', '\n'.join(sources.values())))
    breaks += [f'{"::".join(one)} is not used' for one in virtual if one[1] not in used]
    for path, text in sources.items():
        if not path.relative_to(root).as_posix().startswith(FOLDERS):
            continue
        for name, value in NUMBER.findall(re.sub(r'//[^\n]*', '', text)):
            if name not in OTHERS and name not in {own for _, own in virtual}:
                breaks.append(f'{path.relative_to(root)}: {name} = {value} belongs into <backend/tuning.h>, or is named here with the reason why not')
    print(*breaks, sep='\n', end='\n' if breaks else '')
    print(f'{len(virtual)} numbers, {sum(one[0] == "sum_order" for one in virtual)} of them for the order of sums; {len(breaks)} breaks')
    sys.exit(bool(breaks))


main()
