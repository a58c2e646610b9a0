#!/usr/bin/env python3
"""What `lockstep exec` can't run is refused with one sentence before it starts, and damaged code with CUDA's status and one sentence.

Usage: refusals_test.py LOCKSTEP NVCC FOLDER.
"""
import pathlib
import re
import subprocess
import sys

LOCKSTEP, NVCC, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SOURCE = '''
#include <cstdio>
__global__ void one(int* value) { *value = 1; }
int main() {
  int* value = nullptr;
  cudaMalloc(&value, 4);
  one<<<1, 1>>>(value);
  const cudaError_t status = cudaGetLastError();
  std::printf("%s\\n", cudaGetErrorName(status));
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindSigned};
  for (int i = 0; i < 2; ++i) std::printf("%s\\n", cudaGetErrorName(cudaMallocArray(&array, &format, 4, 4, 0)));
  return status;
}
'''
failed = []


def expect(name, words, code, *patterns):
    done = subprocess.run([LOCKSTEP, 'exec', *words], capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    missing = [pattern for pattern in patterns if not re.search(pattern, said)]
    right = done.returncode == code and not missing
    print(f'{name}: {"right" if right else f"returned {done.returncode}, {missing} missing: {said[-400:]}"}')
    if not right:
        failed.append(name)
    return said


def compiled(name, *arguments):
    program = FOLDER / name
    subprocess.run([NVCC, str(FOLDER / 'one.cu'), '-o', str(program), *arguments], check=True)
    return program


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / 'one.cu').write_text(SOURCE)
    shared = ['-cudart', 'shared', '-gencode']
    good = compiled('good', *shared, 'arch=compute_75,code=compute_75', '-compress-mode', 'none')
    said = expect('a good program', [str(good)], 0, 'cudaSuccess', 'cudaErrorNotSupported\ncudaErrorNotSupported')
    if said.count('cudaMallocArray of libcudart.so.13 is not supported.') != 1:
        failed.append('a refused function says its name once')
    expect('static runtime', [str(compiled('static', '-arch=sm_75'))], 1, "has CUDA's runtime inside.* Fix: link it with nvcc -cudart shared")
    new = str(compiled('new', *shared, 'arch=compute_90,code=compute_90'))
    expect('PTX above the device', [new], 1, 'has PTX for compute_90, and this device runs PTX up to compute_75. Fix: .*--machine')
    expect('PTX for this device', ['--machine', 'h100x8', new], 0, 'cudaSuccess')
    expect('no PTX', [str(compiled('machine_code', *shared, 'arch=compute_75,code=sm_75'))], 1, 'has machine code for sm_75.*Fix: .*code=compute_75')
    whole = good.read_bytes()
    cut = FOLDER / 'cut'
    cut.write_bytes(whole[:len(whole) // 2])
    cut.chmod(0o755)
    expect('a truncated program', [str(cut)], 1, 'The program is cut off')

    # The same damage in what the program registers when it has started: through a script, which is not looked at.
    mark = whole.rfind((0xba55ed50).to_bytes(4, 'little'))
    for name, at, value, status, sentence in (
            ('a length that lies', mark + 8, 1 << 40, 'cudaErrorInvalidKernelImage', 'The fat binary is cut off'),
            ('an entry that lies', mark + 16 + 8, 1 << 40, 'cudaErrorInvalidKernelImage', 'The fat binary is damaged'),
            ('PTX that is none', whole.index(b'.version', mark), int.from_bytes(b'.virsion', 'little'), 'cudaErrorInvalidPtx', 'PTX line')):
        damaged = FOLDER / 'damaged'
        damaged.write_bytes(whole[:at] + value.to_bytes(8, 'little') + whole[at + 8:])
        damaged.chmod(0o755)
        script = FOLDER / 'script.sh'
        script.write_text(f'#!/bin/sh\n{damaged}\n')
        script.chmod(0o755)
        done = subprocess.run([LOCKSTEP, 'exec', str(script)], capture_output=True, text=True, timeout=60)
        right = status in done.stdout and sentence in done.stderr
        print(f'{name}: {"right" if right else f"returned {done.returncode}: {done.stdout + done.stderr}"}')
        if not right:
            failed.append(name)
    print(f'{len(failed)} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
