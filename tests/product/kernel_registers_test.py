"""kernel_registers.py notices a kernel that spills, and does not pass where there is none."""

import tempfile
import unittest
from pathlib import Path

import kernel_registers

KERNEL = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN8lockstep3addEf' for 'sm_75'
ptxas info    : Function properties for _ZN8lockstep3addEf
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used {registers} registers, used 0 barriers, 400 bytes cmem[0]
"""


class KernelRegisters(unittest.TestCase):
    def judge(self, *texts: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            for i, text in enumerate(texts):
                (Path(folder) / f"{i}.cu.o.ptxas").write_text(text)
            return kernel_registers.main(folder)

    def test_kernels_that_keep_to_registers_pass(self):
        self.assertEqual(self.judge(KERNEL.format(stack=0, stores=0, loads=0, registers=40)), 0)

    def test_one_that_spills_fails(self):
        fine = KERNEL.format(stack=0, stores=0, loads=0, registers=40)
        self.assertEqual(self.judge(fine, KERNEL.format(stack=16, stores=12, loads=8, registers=255)), 1)

    def test_a_stack_without_spills_passes(self):
        self.assertEqual(self.judge(KERNEL.format(stack=32, stores=0, loads=0, registers=64)), 0)

    def test_nothing_compiled_is_skipped(self):
        self.assertEqual(self.judge(), 77)
        self.assertEqual(self.judge("ptxas info    : 0 bytes gmem\n"), 77)


if __name__ == "__main__":
    unittest.main()
