#!/usr/bin/env python3
"""includes.py can fail: each planted fault is named, and the tree as it is has none. Usage: includes_test.py ROOT"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = pathlib.Path(sys.argv[1])
failures = 0


def run(tree):
    done = subprocess.run([sys.executable, here / 'includes.py', tree], capture_output=True, text=True)
    return done.returncode, done.stdout


def expect(what, good, text):
    global failures
    failures += not good
    print(('ok    ' if good else 'FAIL  ') + what + ('' if good else '\n' + text))


# name of the fault, files and the lines they get, what a line of includes.py must have; in a cycle the order of the rooms depends on the others
PLANTED = [
    ('an upward include', {'simulator/trace/trace.cc': '#include "engine/nn/graph.h"'}, 'simulator/trace/trace.cc includes engine/nn/graph.h'),
    ('the engine looks inside the virtual GPU', {'engine/ops/matmul.cc': '#include "simulator/gpu/runtime/queue.h"'},
     'engine/ops/matmul.cc includes simulator/gpu/runtime/queue.h'),
    ('the virtual GPU depends on training', {'simulator/gpu/runtime/machine.cc': '#include "engine/device/stream.h"'},
     'simulator/gpu/runtime/machine.cc includes engine/device/stream.h'),
    ('a cycle of three rooms',
     {'engine/tensor/tensor.h': '#include "engine/display/a.h"', 'engine/display/a.h': '#include "engine/optim/b.h"',
      'engine/optim/b.h': '#include "engine/tensor/tensor.h"'}, ('cycle:', 'engine/tensor', 'engine/display', 'engine/optim')),
    ('an include that is nothing', {'engine/nn/graph.cc': '#include "graph.h"'}, 'unresolved: engine/nn/graph.cc: "graph.h'),
    ('a helper that only one backend has', {'engine/ops/matmul.cc': '#include <backend/context.h>'}, 'unresolved: engine/ops/matmul.cc: <backend/context.h'),
    ('a new folder without a direction', {'extras/x.cc': '#include "common/sha256.h"'}, 'extras/x.cc: this folder has no row'),
]

code, text = run(root)
print(text.strip().split('\n')[-1])
expect('the tree as it is', code == 0, text)
listed = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True).stdout.split('\n')
with tempfile.TemporaryDirectory() as folder:
    for name in listed:
        if name.endswith(('.h', '.hpp', '.cc', '.cu', '.inl')) and (root / name).is_file():
            (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, pathlib.Path(folder) / name)
    for what, lines, said in PLANTED:
        before = {}
        for name, line in lines.items():
            path = pathlib.Path(folder) / name
            before[path] = path.read_text() if path.exists() else None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line + '\n' + (before[path] or ''))
        code, text = run(folder)
        parts = said if isinstance(said, tuple) else (said,)
        expect(what, code == 1 and any(all(part in line for part in parts) for line in text.split('\n')), text)
        for path, old in before.items():
            path.unlink() if old is None else path.write_text(old)
    expect('the copy as it is', run(folder)[0] == 0, '')
sys.exit(1 if failures else 0)
