#!/usr/bin/env python3
"""Tuning has one home: <backend/tuning.h>, once for a GPU and once for the virtual one; what decides the order of sums is in engine/kernels/sum_order.h.

Usage: tuning.py [ROOT]

Both twins have the same names, and no number that is in sum_order.h, since results of the two backends would differ; above each number a comment says
where it was measured, or "not measured" and why it was chosen; each is used; and no other number like them is left in the engine's kernels, operations
and collectives, but for those listed here. Exit code 1 where one breaks this.
"""
import pathlib
import re
import sys

TWINS = ('engine/cuda/backend/tuning.h', 'simulator/gpu/backend/tuning.h')
ORDER = 'engine/kernels/sum_order.h'
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
    """{name: the comment above it}"""
    found, comment, before = {}, '', ''
    for line in text.split('\n'):
        if line.startswith('//'):
            comment = f'{comment}\n{line}' if before.startswith('//') else line
        elif not line.startswith(('#', 'inline')):
            comment = ''
        before = line
        if line.startswith('inline constexpr'):
            found.update((name, comment) for name in re.findall(r'(k\w+) = ', line))
    return found


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = {path: numbers((root / path).read_text()) for path in (*TWINS, ORDER)}
    gpu, virtual, order = (set(one) for one in found.values())
    breaks = [f'{name} is in one twin only' for name in sorted(gpu ^ virtual)]
    breaks += [f'{name} decides the order of sums: it is the same for both backends' for name in sorted((gpu | virtual) & order)]
    breaks += [f'{path}: no comment says where {name} was measured, or why it was chosen'
               for path, one in found.items() for name, comment in one.items() if not re.search(r'\bmeasured\b', comment, re.I)]
    sources = {path: path.read_text() for folder in (*FOLDERS, 'simulator/gpu/backend') for path in sorted((root / folder).rglob('*'))
               if path.suffix in ('.h', '.cc', '.cu') and path.name not in ('tuning.h', 'sum_order.h')}
    used = set(re.findall(r'\bk\w+', '\n'.join(sources.values())))
    breaks += [f'{name} is not used' for name in sorted((virtual | order) - used)]
    for path, text in sources.items():
        for name, value in NUMBER.findall(re.sub(r'//[^\n]*', '', text)):
            if name not in OTHERS and path.relative_to(root).as_posix().startswith(FOLDERS):
                breaks.append(f'{path.relative_to(root)}: {name} = {value} belongs into <backend/tuning.h>, or is named here with the reason why not')
    print(*breaks, sep='\n', end='\n' if breaks else '')
    print(f'{len(virtual)} numbers for each backend, {len(order)} for the order of sums; {len(breaks)} breaks')
    sys.exit(bool(breaks))


main()
