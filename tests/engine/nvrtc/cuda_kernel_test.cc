// Kernels compiled from source while the program runs: results, arguments, names, messages.
#include "lockstep/cuda_kernel.h"

#include <cstdlib>
#include <numeric>

#include "lockstep/strategy.h"
#include "tests/engine/nvrtc/support/nvrtc.h"

namespace lockstep::testing {

namespace {

constexpr char kAdd[] = R"(
__global__ void add(const float* x, const float* y, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = x[i] + y[i];
}
)";

Array numbers(int n, float first = 0) {
  Array array(Shape{n});
  std::iota(array.data<float>(), array.data<float>() + n, first);
  return array;
}

class CudaKernelTest : public WithNvrtc {};

TEST_F(CudaKernelTest, AddsVectors) {
  const CudaKernel add(kAdd, "add");
  for (const int n : {1, 255, 256, 1000}) {
    const Array x = numbers(n), y = numbers(n, 0.5F);
    Array sum(Shape{n});
    add.launch({(n + 255) / 256, 256}, x, y, sum, n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(sum.data<float>()[i], 2 * static_cast<float>(i) + 0.5F) << n << ", " << i;
  }
}

TEST_F(CudaKernelTest, ReducesInSharedMemory) {
  const CudaKernel reduce(R"(
    extern "C" __global__ void reduce(const int* x, int* sums, int n) {
      extern __shared__ int part[];
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      part[threadIdx.x] = i < n ? x[i] : 0;
      __syncthreads();
      for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
      }
      if (threadIdx.x == 0) atomicAdd(sums, part[0]);
    })",
                          "reduce");
  constexpr int kCount = 1000;
  Array x(Shape{kCount}, DType::int32), sum(Shape{1}, DType::int32);
  std::iota(x.data<std::int32_t>(), x.data<std::int32_t>() + kCount, 1);
  reduce.launch({{8}, {128}, 128 * sizeof(int)}, x, sum, kCount);
  EXPECT_EQ(sum.data<std::int32_t>()[0], kCount * (kCount + 1) / 2);
}

TEST_F(CudaKernelTest, TemplatesNamespacesAndTwoKernelsOfOneSource) {
  const CudaProgram program(R"(
    namespace image {
    template <typename T> __global__ void scale(T* x, T factor) { x[threadIdx.x] *= factor; }
    }
    __global__ void negate(float* x) { x[threadIdx.x] = -x[threadIdx.x]; })",
                            {"image::scale<float>", "image::scale<int>", "negate"});
  Array x = numbers(32), counts(Shape{2}, std::vector<std::int32_t>{3, 4});
  program.kernel("image::scale<float>").launch({1, 32}, x, 2);  // 2 becomes 2.0F, as in a call
  program.kernel("negate").launch({1, 32}, x);
  program.kernel("image::scale<int>").launch({1, 2}, counts, 10.0);
  EXPECT_EQ(x.data<float>()[31], -62.0F);
  EXPECT_EQ(counts.data<std::int32_t>()[1], 40);
  EXPECT_TRUE(says(error_of([&] { program.kernel("scale"); }), "was not compiled for a kernel 'scale'"));
}

TEST_F(CudaKernelTest, ArgumentsOfEverySizeArriveAsTheyAre) {
  const CudaKernel store(R"(
    __global__ void store(float* out, signed char a, unsigned short b, long long c, float d, double e, bool f) {
      out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f;
    })",
                         "store");
  Array out(Shape{6});
  store.launch({1, 1}, out, -7, 65535, -(1LL << 40), 0.25, 0.5, true);
  const std::vector<float> expected{-7, 65535, -1099511627776.0F, 0.25F, 0.5F, 1};
  EXPECT_EQ(std::vector<float>(out.data<float>(), out.data<float>() + 6), expected);
  EXPECT_TRUE(says(error_of([&] {
                     store.launch({1, 1}, out, 128, 0, 0, 0, 0, 0);
                   }),
                   "argument 2 (signed char): it can't hold the value 128"));
  EXPECT_TRUE(says(error_of([&] {
                     store.launch({1, 1}, out, 0, -1, 0, 0, 0, 0);
                   }),
                   "argument 3 (unsigned short): it can't hold the value -1"));
  EXPECT_TRUE(says(error_of([&] {
                     store.launch({1, 1}, out, 0, 0, 0.5, 0, 0, 0);
                   }),
                   "argument 4 (long long): it can't hold the value 0.5"));
}

TEST_F(CudaKernelTest, AConstArrayIsNotChangedAndOneArrayMayComeTwice) {
  const CudaKernel twice("extern \"C\" __global__ void twice(float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; x[0] = 99; }",
                         "twice");
  Array x = numbers(4, 1);
  const Array kept = x.clone();
  Array y(Shape{4});
  twice.launch({1, 4}, kept, y);
  EXPECT_EQ(kept.data<float>()[0], 1);
  EXPECT_EQ(y.data<float>()[3], 8);
  const CudaKernel add(kAdd, "add");
  add.launch({1, 4}, x, x, x, 4);
  EXPECT_EQ(x.data<float>()[3], 8);
  add.launch({1, 4}, Array(), Array(), Array(), 0);  // no elements: null
}

TEST_F(CudaKernelTest, AWrongNumberOrKindOfArgumentsIsRefusedBeforeAnythingRuns) {
  const CudaKernel add(kAdd, "add");
  Array x = numbers(4);
  Array integers(Shape{4}, DType::int32);
  EXPECT_EQ(error_of([&] {
              add.launch({1, 4}, x, x, x);
            }),
            "Kernel 'add(float const*, float const*, float*, int)' takes 4 arguments (float const*, float const*, float*, int), and 3 were "
            "given.");
  EXPECT_TRUE(says(error_of([&] { add.launch({1, 4}, x, integers, x, 4); }), "argument 2 (float const*): an Array of int32 was given"));
  EXPECT_TRUE(says(error_of([&] { add.launch({1, 4}, x, x, 3, 4); }), "argument 3 (float*): a number was given"));
  EXPECT_TRUE(says(error_of([&] { add.launch({1, 4}, x, x, x, x); }), "argument 4 (int): an Array was given"));
  EXPECT_EQ(x.data<float>()[3], 3);

  const CudaKernel nameless("extern \"C\" __global__ void k(float* x, float f) {}", "k");  // its name has no types, its PTX has sizes
  EXPECT_TRUE(says(error_of([&] {
                     nameless.launch({1, 1}, x);
                   }),
                   "takes 2 arguments (pointer or 64-bit integer, 32-bit float), and 1 was"));
  EXPECT_TRUE(says(error_of([&] { nameless.launch({1, 1}, x, x); }), "argument 2 (32-bit float): an Array was given"));
}

TEST_F(CudaKernelTest, AStructureIsRefused) {
  const CudaKernel kernel("struct P { int a[2]; }; __global__ void k(P p) {}", "k");
  EXPECT_TRUE(says(error_of([&] { kernel.launch({1, 1}, 3); }), "argument 1 (P): a structure can't be passed"));
}

TEST_F(CudaKernelTest, AShapeThatNoGpuTakesIsRefused) {
  const CudaKernel add(kAdd, "add");
  Array x = numbers(4);
  EXPECT_TRUE(says(error_of([&] { add.launch({0, 4}, x, x, x, 4); }), "a grid side of 0 was asked for; it must be 1 to 2147483647"));
  EXPECT_TRUE(says(error_of([&] { add.launch({1, 2048}, x, x, x, 4); }), "a block side of 2048 was asked for; it must be 1 to 1024"));
  EXPECT_TRUE(says(error_of([&] { add.launch({1, {64, 32}}, x, x, x, 4); }), "a block of 2048 was asked for; it must be 1 to 1024"));
  EXPECT_TRUE(says(error_of([&] { add.launch({{1}, {4}, 1 << 20}, x, x, x, 4); }), "CUDA_ERROR_INVALID_VALUE"));
  add.launch({1, 4}, x, x, x, 4);  // the GPU still works
  EXPECT_EQ(x.data<float>()[3], 6);
}

TEST_F(CudaKernelTest, ACompileErrorNamesItsLine) {
  const std::string said = error_of([] {
    const CudaKernel bad("__global__ void k(float* x) {\n  x[0] = 1;\n  x[1] = nope;\n}\n", "k", {"mine.cu", {}});
  });
  EXPECT_TRUE(says(said, "mine.cu does not compile:"));
  EXPECT_TRUE(says(said, "mine.cu(3): error: identifier \"nope\" is undefined"));
  EXPECT_FALSE(says(said, "mine.cu(2)"));
}

TEST_F(CudaKernelTest, AnUnknownNameIsAnsweredWithTheKernelsThatThereAre) {
  const std::string said = error_of([] { const CudaKernel bad(kAdd, "ad"); });
  EXPECT_TRUE(says(said, "kernel.cu has no kernel 'ad'; it has 'add(float const*, float const*, float*, int)'."));
  EXPECT_TRUE(says(error_of([] { const CudaKernel bad("__device__ void f() {}", "f"); }), "'f'"));
}

TEST_F(CudaKernelTest, OptionsReachTheCompiler) {
  const CudaKernel fill("__global__ void fill(int* x) { x[threadIdx.x] = VALUE; }", "fill", {"kernel.cu", {"-DVALUE=17"}});
  Array x(Shape{3}, DType::int32);
  fill.launch({1, 3}, x);
  EXPECT_EQ(x.data<std::int32_t>()[2], 17);
  EXPECT_TRUE(says(error_of([] { const CudaKernel bad(kAdd, "add", {"kernel.cu", {"--no-such-option"}}); }), "--no-such-option"));
}

TEST_F(CudaKernelTest, RunsOnEachReplicasTensors) {
  const CudaKernel add(kAdd, "add");
  const MirroredStrategy strategy;  // all GPUs
  const PerReplica<Array> sums = strategy.run([&](ReplicaContext& context) {
    const Array x = numbers(100, static_cast<float>(context.replica_id_in_sync_group()));
    Array sum(Shape{100});
    add.launch({1, 128}, x, x, sum, 100);
    return context.all_reduce(ReduceOp::sum, sum);
  });
  const int replicas = strategy.num_replicas_in_sync();
  const float expected = static_cast<float>(2 * (99 * replicas + replicas * (replicas - 1) / 2));
  for (const Array& sum : sums.values()) EXPECT_EQ(sum.data<float>()[99], expected);
}

// A setting of the environment for a scope.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Setting() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(CudaKernelWithoutNvrtc, SaysWhereItLooked) {
  const Setting setting("LOCKSTEP_NVRTC", "/no/such/folder");
  EXPECT_EQ(
      error_of([] { const CudaKernel add(kAdd, "add"); }),
      "NVRTC, the compiler of kernels at run time, is not where LOCKSTEP_NVRTC says: '/no/such/folder' is neither libnvrtc.so nor a folder "
      "with it.");
}

}  // namespace

}  // namespace lockstep::testing
