"""kernel_list.py notices a kernel that one of the two builds lacks. Runs on small libraries made by the host compiler."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import kernel_list

SIM = f'''
#define __global__ __attribute__((section("{kernel_list.SIM_SECTION}"), noinline))
namespace lockstep {{
template <typename T> struct View {{ T* data; }};
__global__ void scale(View<float> y, View<const float> x, float by) {{ y.data[0] = x.data[0] * by; }}
__global__ void add(View<float> y, View<const float> x) {{ y.data[0] += x.data[0]; }}
void not_a_kernel(View<float> y) {{ y.data[0] = 0; }}
}}
'''
# What nvcc leaves behind for a kernel: the function itself and its stub.
STUB = "void __device_stub_{mangled}(int) {{}}\n"
SCALE = "_ZN8lockstep5scaleENS_4ViewIfEENS0_IKfEEf"
ADD = "_ZN8lockstep3addENS_4ViewIfEENS0_IKfEE"


class KernelList(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.sim = self.compile("sim.so", SIM, "-shared")

    def compile(self, name: str, source: str, how: str) -> str:
        out = self.folder / name
        subprocess.run(["g++", "-fPIC", how, "-xc++", "-", "-o", out], input=source, text=True, check=True)
        return str(out)

    def test_equal_lists_pass(self):
        cuda = self.compile("cuda.o", STUB.format(mangled=SCALE) + STUB.format(mangled=ADD), "-c")
        self.assertEqual(kernel_list.kernels_of_sim(self.sim), {SCALE, ADD})
        self.assertEqual(kernel_list.kernels_of_cuda(cuda), {SCALE, ADD})
        self.assertEqual(kernel_list.main(self.sim, cuda), 0)

    def test_a_missing_kernel_fails(self):
        self.assertEqual(kernel_list.main(self.sim, self.compile("cuda.o", STUB.format(mangled=SCALE), "-c")), 1)

    def test_a_kernel_too_many_fails(self):
        stubs = "".join(STUB.format(mangled=name) for name in (SCALE, ADD, "_ZN8lockstep4moreEv"))
        self.assertEqual(kernel_list.main(self.sim, self.compile("cuda.o", stubs, "-c")), 1)

    def test_empty_lists_do_not_pass(self):
        empty = self.compile("empty.o", "int nothing;", "-c")
        self.assertEqual(kernel_list.main(empty, empty), 1)

    def test_a_library_not_built_is_skipped(self):
        self.assertEqual(kernel_list.main(self.sim, str(self.folder / "absent.a")), 77)


if __name__ == "__main__":
    unittest.main()
