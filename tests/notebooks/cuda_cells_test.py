"""Cells of CUDA C++ (%%cuda): compiled by NVRTC, launched from C++ cells, with the counts of each launch. Without NVRTC: skipped, but for what it says then."""
import sys
import unittest

from kernel_session import Session

ADD = """%%cuda -DSTEP=1
// __global__ void not_this() {}
#define QUOTED "__global__ void nor_this() {"
__global__ void __launch_bounds__(256) add(const float* x, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = x[i] + STEP;
}
template <typename T> __global__ void generic(T* x) { x[0] = T{}; }
extern "C" __global__ void clear(float* x) { x[threadIdx.x] = 0; }
"""
ARRAYS = "using namespace lockstep;\nArray x(Shape{64}, std::vector<float>(64, 2)), sum(Shape{64});"


class CudaCells(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)

    def ok(self, code):
        result = self.session.run(code)
        self.assertEqual(result.status, "ok", result.error)
        return result

    def fails(self, code):
        result = self.session.run(code)
        self.assertEqual(result.status, "error", "this should have failed: " + code)
        return "\n".join([result.error["evalue"], *result.error["traceback"]])

    def needs_nvrtc(self):
        result = self.session.run("%%cuda\n__global__ void nothing() {}\n")
        if result.status == "error" and "NVRTC" in result.error["evalue"]:
            self.skipTest("skipped: " + result.error["evalue"])

    def test_later_cells_launch_its_kernels(self):
        self.needs_nvrtc()
        self.assertEqual(self.ok(ADD).stdout, "Kernel add(float const*, float*, int)\nKernel clear\n")
        self.ok(ARRAYS)
        shown = self.ok("add.launch({1, 64}, x, sum, 64)")
        self.assertEqual(self.ok("sum.data<float>()[63]").text, "3")
        self.assertIn("sectors / least", shown.text)
        self.assertIn("<table>", shown.result["text/html"])
        self.assertIn("16 / 16", shown.text)  # 64 floats are 8 sectors, loaded and stored
        self.assertRegex(shown.text, r"\n +6 +\d+")  # lines are the cell's
        self.ok("clear.launch({1, 64}, sum);")
        self.assertEqual(self.ok("sum.data<float>()[63]").text, "0")
        self.ok(ADD.replace("STEP=1", "STEP=5"))  # again, changed
        self.ok("add.launch({1, 64}, x, sum, 64);")
        self.assertEqual(self.ok("sum.data<float>()[63]").text, "7")

    def test_mistakes_are_named_by_the_cells_lines(self):
        self.needs_nvrtc()
        self.ok(ADD)
        self.assertIn('cell(4): error: identifier "nope" is undefined', self.fails("%%cuda\n\n__global__ void add(float* x) {\n  x[0] = nope;\n}\n"))
        self.ok(ARRAYS)
        self.ok("add.launch({1, 64}, x, sum, 64);")  # the kernel of before
        self.assertIn("takes 3 arguments", self.fails("add.launch({1, 64}, x, sum);"))
        said = self.fails("add.launch({1, 65}, x, sum, 65);")
        self.assertIn("cell line 6", said)
        self.assertIn("thread (64, 0, 0)", said)

    def test_a_cell_without_a_kernel_is_refused(self):
        for cell in ("%%cuda\n", "%%cuda\n// __global__ void k() {}\n__device__ int f() { return 1; }\n"):
            self.assertIn("has no kernel", self.fails(cell))

    def test_without_nvrtc_it_says_what_is_missing(self):
        self.ok('#include <cstdlib>\nsetenv("LOCKSTEP_NVRTC", "/no/such/folder", 1);')
        self.assertIn("NVRTC, the compiler of kernels at run time, is not where LOCKSTEP_NVRTC says", self.fails(ADD))
        self.assertEqual(self.ok("1 + 1").text, "2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
