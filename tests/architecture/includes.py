#!/usr/bin/env python3
"""Resolves every #include and checks that folders (rooms) include each other only in the direction of the picture in docs/design.md.

Usage: includes.py [ROOT] [--edges]

Prints rooms, edges, cycles of any length, violations of the direction ("breaks") and includes that can't be resolved. Exit code 1 where there is one.
"""
import argparse
import collections
import pathlib
import posixpath
import re
import subprocess
import sys

SOURCES = ('.h', '.hpp', '.cc', '.cu', '.inl')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
PUBLIC = 'engine/include/lockstep'  # lockstep/*.h
NVIDIA = 'simulator/gpu/include'  # cuda_runtime.h, cudnn.h, nccl.h, ...
TWINS = ('simulator/gpu/backend', 'engine/cuda/backend')  # <backend/*.h>, chosen by the build
MADE = {'embedded_machines.h'}  # written while configuring
# Packages that need not be installed where this runs.
OPTIONAL = re.compile(r'^(clang/|llvm/|zmq\.h|mpi\.h|openssl/|oneapi/|hdf5\.h|fmt/|nlohmann/|CLI/|curl/|gtest/|gmock/|benchmark/|boost/|z(lib|std)\.h|jpeglib\.h|lz4'
                      r'|cuda\.h|cuda_runtime_api\.h|cuda_fp16\.h|cuda_bf16\.h|cudnn_ops\.h|cublas_v2\.h|driver_types\.h|cooperative_groups|mma\.h|nvrtc\.h)')

# (who, may include of the project only, why). The first row that fits counts.
DIRECTION = [
    (r'common', r'common', 'everything may include common, so it includes nothing'),
    (r'engine/include/', r'engine/include/', 'the public headers include only each other'),
    (r'engine/cuda/backend', r'engine/cuda/backend|' + NVIDIA, "NVIDIA's side of the seam includes only itself"),
    (r'simulator/gpu/backend', r'simulator/gpu/backend', 'kernels include the seam and nothing behind it'),
    (NVIDIA, NVIDIA + '|simulator/gpu/backend', 'an API includes nothing of its implementation'),
    (r'simulator/gpu/', r'common|simulator/(gpu|clock)', 'the virtual GPU does not depend on training'),
    (r'simulator/clock', r'common|simulator/clock', 'the clock does not depend on training'),
    (r'simulator/(logical|trace)', r'common|simulator/(logical|trace)|' + NVIDIA + r'|BACKEND|engine/(device|include)',
     'splitting a GPU and recording a step need streams, not training'),
    (r'engine/kernels', r'engine/kernels|' + NVIDIA + '|BACKEND', 'kernels include only kernels and the seam'),
    (r'engine/', r'common|engine|simulator/(logical|trace)|' + NVIDIA + '|BACKEND', "the engine includes NVIDIA's headers and the seam"),
    (r'cli/.*_sim\.(cc|h)$', r'common|cli|engine/include|simulator', 'these files are for the virtual GPU'),
    (r'cli/', r'common|cli|engine/include|simulator/clock', 'nothing above the engine includes CUDA'),
    (r'notebooks/', r'notebooks/|engine/include', 'the kernel of notebooks uses the public API'),
    (r'examples/', r'engine/include', 'a user\'s program'),
    (r'lessons/', r'lessons|engine/include|simulator/gpu|BACKEND', 'lessons run on the virtual GPU'),
    (r'bench/', r'bench|tests|engine|simulator|common|BACKEND', ''),
    (r'tests/', r'tests|bench|engine|simulator|common|BACKEND', ''),
]


def project_files(root):
    listed = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True)
    names = listed.stdout.split('\n') if listed.returncode == 0 else [str(p.relative_to(root)) for p in pathlib.Path(root).rglob('*')]
    return sorted(n for n in names if n.endswith(SOURCES) and (pathlib.Path(root) / n).is_file() and not n.startswith('build/'))


def system_folders():
    """Where the compiler looks for <...>, and the folders of packages below them."""
    said = subprocess.run(['c++', '-E', '-v', '-x', 'c++', '/dev/null'], capture_output=True, text=True).stderr
    found = re.search(r'search starts here:\n(.*?)End of search', said, re.S)
    return [pathlib.Path(line.strip()) for line in found[1].split('\n') if line.startswith(' ')] if found else []


class House:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.names = project_files(root)
        self.known = set(self.names)
        self.system = system_folders()
        self.edges = collections.Counter()
        self.breaks, self.unresolved = [], []
        for name in self.names:
            text = (self.root / name).read_text(errors='replace')
            for bracket, written in INCLUDE.findall(text):
                self.look_at(name, bracket, written)

    def resolve(self, name, bracket, written):
        """The files that this include may mean; [] for a header of the system, None where it can't be resolved."""
        if written.startswith('backend/'):
            twins = [f'{folder}/{written[len("backend/"):]}' for folder in TWINS]
            own = [twin for twin in twins if pathlib.PurePath(twin).parent == pathlib.PurePath(name).parent]
            if own or name.startswith(NVIDIA):  # a twin may have parts that the other one lacks
                twins = own or twins[:1]
            elif not name.startswith(('engine/', 'simulator/logical', 'simulator/trace')):
                twins = twins[:1]
            return twins if all(twin in self.known for twin in twins) else None
        places = [f'engine/include/{written}', f'{NVIDIA}/{written}']
        if bracket == '"':
            places.insert(0, written)
            if name.startswith('lessons/'):  # a learner's file is compiled in its lesson's folder
                lesson = '/'.join(name.split('/')[:2])
                places = [posixpath.normpath(f'{lesson}/{written}'), f'lessons/support/{written}'] + places
            if name.startswith('notebooks/kernel/include'):
                places.insert(0, f'notebooks/kernel/include/{written}')
        for place in places:
            if place in self.known:
                return [place]
        if written in MADE or OPTIONAL.match(written) or any((folder / written).is_file() for folder in self.system):
            return []
        return None

    def look_at(self, name, bracket, written):
        targets = self.resolve(name, bracket, written)
        if targets is None:
            self.unresolved.append(f'{name}: {bracket}{written}')
            return
        for target in targets:
            seam = 'BACKEND' if target.startswith(TWINS) and not name.startswith(TWINS) else target
            for who, what, why in DIRECTION:
                if re.match(who, name):
                    if not re.match(f'({what})', seam) and not re.match(f'({what})', target):
                        self.breaks.append(f'{name} includes {target}: {why}')
                    break
            else:
                self.breaks.append(f'{name}: this folder has no row in {sys.argv[0]}')
            here, there = (self.room(one) for one in (name, target))
            if here != there:
                self.edges[here, there] += 1

    @staticmethod
    def room(name):
        folder = str(pathlib.PurePath(name).parent)
        return PUBLIC if folder.startswith(PUBLIC) else NVIDIA if folder.startswith(NVIDIA) else folder

    def cycles(self):
        """Strongly connected rooms (Tarjan), so cycles of any length."""
        below = collections.defaultdict(set)
        for here, there in self.edges:
            below[here].add(there)
        index, low, stack, found = {}, {}, [], []

        def visit(room):
            index[room] = low[room] = len(index)
            stack.append(room)
            for other in sorted(below[room]):
                if other not in index:
                    visit(other)
                    low[room] = min(low[room], low[other])
                elif other in stack:
                    low[room] = min(low[room], index[other])
            if low[room] == index[room]:
                part = stack[stack.index(room):]
                del stack[stack.index(room):]
                if len(part) > 1:
                    found.append(part)

        sys.setrecursionlimit(10000)
        for room in sorted(below):
            if room not in index:
                visit(room)
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('root', nargs='?', default='.')
    parser.add_argument('--edges', action='store_true')
    options = parser.parse_args()
    house = House(options.root)
    if options.edges:
        for (here, there), count in sorted(house.edges.items()):
            print(f'  {here} -> {there} ({count})')
    cycles = house.cycles()
    for one in cycles:
        print('cycle:', ' -> '.join(one + one[:1]))
    for one in house.breaks:
        print('breaks the direction:', one)
    for one in house.unresolved:
        print('unresolved:', one)
    print(f'{len(house.names)} files, {len({house.room(n) for n in house.names})} rooms, {len(house.edges)} edges, {len(cycles)} cycles, '
          f'{len(house.breaks)} breaks, {len(house.unresolved)} unresolved')
    return 1 if cycles or house.breaks or house.unresolved or not house.names else 0


if __name__ == '__main__':
    sys.exit(main())
