// What the virtual cuDNN refuses to plan or to run. (What its descriptors refuse is compared with NVIDIA's in tests/conformance.)
#include <cstdlib>
#include <cstring>

#include "tests/simulator/gpu/cudnn/support/convolution.h"

namespace lockstep::test {
namespace {

ConvolutionCase small() {
  ConvolutionCase c;
  c.n = 2, c.c = 3, c.h = c.w = 6, c.k = 4, c.r = c.s = 3;
  return c;
}

TEST(ConvolutionRefusals, EveryHeuristicModeFindsAnEngineForKrscAndKcrsFilters) {
  const DnnHandle handle;
  for (const auto mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const bool channels_first : {false, true}) {
      ConvolutionCase c = small();
      c.channels_first_filter = channels_first;
      EXPECT_EQ(results_of(make_heuristic(make_graph(handle, make_operation(c, c.filter_strides())), mode)), 1);
    }
  }
}

TEST(ConvolutionRefusals, NoEngineTakesAFilterInKerasOrder) {
  const DnnHandle handle;
  const ConvolutionCase c = small();
  const std::vector<std::int64_t> hwio{1, c.k, c.s * c.c * c.k, c.c * c.k};
  EXPECT_EQ(results_of(make_heuristic(make_graph(handle, make_operation(c, hwio)))), 0);
}

TEST(ConvolutionRefusals, ATeslaT4HasNoPlanForBfloat16) {
  const DnnHandle handle;
  ConvolutionCase c = small();
  c.type = Narrow::f16;
  EXPECT_EQ(results_of(make_heuristic(make_graph(handle, c))), 1);
  c.type = Narrow::bf16;
  EXPECT_EQ(results_of(make_heuristic(make_graph(handle, c))), 0);
}

// In a process of its own, since a process has one machine.
TEST(ConvolutionRefusalsDeathTest, AnA100ComputesBfloat16) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto compute = [] {
    if (setenv("LOCKSTEP_SIM_MACHINE", "a100x8", 1) != 0) std::exit(2);
    {
      const DnnHandle handle;
      ConvolutionCase c = small();
      c.type = Narrow::bf16;
      c.bias = c.relu = true;
      Random random(7);
      const ConvolutionData data = random_data(c, random);
      expect_convolution(c, data, run_convolution(handle, c, data));
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(compute(), testing::ExitedWithCode(0), "");
}

// NVIDIA's library has these plans for a T4 and no others (tests/conformance).
TEST(ConvolutionRefusals, OnlyBiasWithOrWithoutAddendAndReluIsFused) {
  const DnnHandle handle;
  for (int which = 1; which < 8; ++which) {
    ConvolutionCase c = small();
    c.addend = (which & 1) != 0;
    c.bias = (which & 2) != 0;
    c.relu = (which & 4) != 0;
    EXPECT_EQ(results_of(make_heuristic(make_graph(handle, c))), c.bias ? 1 : 0) << c.text();
  }
}

TEST(ConvolutionRefusals, AFusedPlanNeedsItsBias) {
  const DnnHandle handle;
  ConvolutionCase c = small();
  c.bias = true;
  const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, c)));
  const DeviceArray memory(std::size_t{4096}), workspace(static_cast<std::size_t>(workspace_of(plan)) / sizeof(float) + 1);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), make_pack({memory.data(), memory.data(), memory.data()}, workspace.data()).raw()),
            CUDNN_STATUS_BAD_PARAM);
}

TEST(ConvolutionRefusals, ToldToRefuseTheHeuristicFindsNothing) {
  const DnnHandle handle;
  const ConvolutionCase c = small();
  const Descriptor graph = make_graph(handle, make_operation(c, c.filter_strides()));
  ASSERT_EQ(setenv("LOCKSTEP_SIM_CUDNN_REFUSE", "1", 1), 0);
  EXPECT_EQ(results_of(make_heuristic(graph)), 0);
  ASSERT_EQ(unsetenv("LOCKSTEP_SIM_CUDNN_REFUSE"), 0);
  EXPECT_EQ(results_of(make_heuristic(graph)), 1);
}

TEST(ConvolutionRefusals, AnEngineSaysThatItIsExactAndDeterministic) {
  const DnnHandle handle;
  const ConvolutionCase c = small();
  const Descriptor heuristic = make_heuristic(make_graph(handle, make_operation(c, c.filter_strides())));
  const Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = configuration.raw();
  std::int64_t count = 0;
  ASSERT_EQ(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
            CUDNN_STATUS_SUCCESS);
  raw = engine.raw();
  ASSERT_EQ(cudnnBackendGetAttribute(configuration.raw(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
            CUDNN_STATUS_SUCCESS);
  std::int64_t index = -1;
  EXPECT_EQ(cudnnBackendGetAttribute(engine.raw(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(index, 0);
  cudnnBackendNumericalNote_t notes[10];
  EXPECT_EQ(cudnnBackendGetAttribute(engine.raw(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 10, &count, notes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 0);
}

TEST(ConvolutionRefusals, AGraphAPlanAndAPackNeedTheirParts) {
  EXPECT_EQ(Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR).finalize(), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(Descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR).finalize(), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(Descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR).finalize(), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(Descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).finalize(), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR).finalize(), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  Descriptor uneven(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  uneven.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2, 3})
      .one(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<void*>(&uneven));
  EXPECT_EQ(uneven.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST(ConvolutionRefusals, ExecutionNeedsEveryTensorItsAlignmentAndAWorkspace) {
  const DnnHandle handle;
  const ConvolutionCase c = small();
  const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, make_operation(c, c.filter_strides()))));
  ASSERT_GT(workspace_of(plan), 0);
  const DeviceArray x(static_cast<std::size_t>(c.image_elements()) + 8), w(static_cast<std::size_t>(c.filter_elements())),
      y(static_cast<std::size_t>(c.output_elements())), workspace(static_cast<std::size_t>(workspace_of(plan)) / sizeof(float) + 1);
  const auto run = [&](void* x_pointer, void* workspace_pointer) {
    return cudnnBackendExecute(handle.get(), plan.raw(), make_pack({x_pointer, w.data(), y.data()}, workspace_pointer).raw());
  };
  EXPECT_EQ(run(x.data(), workspace.data()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(x.data() + 1, workspace.data()), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(run(nullptr, workspace.data()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(run(x.data(), nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const Descriptor raw_pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), raw_pack.raw()), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), plan.raw()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendExecute(nullptr, plan.raw(), raw_pack.raw()), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(ConvolutionRefusals, ARefusalIsExplainedOnce) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(tensor.finalize(), CUDNN_STATUS_BAD_PARAM);
  char words[200] = "";
  cudnnGetLastErrorString(words, sizeof words);
  EXPECT_NE(std::strstr(words, "strides"), nullptr) << words;
  cudnnGetLastErrorString(words, sizeof words);
  EXPECT_STREQ(words, "");
}

TEST(ConvolutionRefusals, HandlesKeepTheirStreamAndStatusesHaveNames) {
  const DnnHandle handle;
  const Stream stream;
  cudaStream_t got = stream.get();
  ASSERT_EQ(cudnnGetStream(handle.get(), &got), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got, nullptr);
  ASSERT_EQ(cudnnSetStream(handle.get(), stream.get()), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnGetStream(handle.get(), &got), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got, stream.get());
  EXPECT_EQ(cudnnCreate(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnnDestroy(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH), "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH");
  EXPECT_GE(cudnnGetVersion(), 90100U);
}

}  // namespace
}  // namespace lockstep::test
