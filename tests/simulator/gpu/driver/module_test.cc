// The driver's modules: what is refused, and with which status and words.
#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <backend/driver.h>
#include "simulator/gpu/runtime/control.h"

namespace lockstep::testing {

namespace {

constexpr char kFill[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 seen = 7;\n"
    ".visible .entry fill(.param .u64 d, .param .u32 v)\n{\n.reg .b64 %o;\n.reg .b32 %v, %s;\nld.param.u64 %o, [d];\nld.param.u32 %v, "
    "[v];\n"
    "ld.global.u32 %s, [seen];\nadd.u32 %v, %v, %s;\nst.global.u32 [%o], %v;\nret;\n}\n";

CUresult load(const char* text, CUmodule* module, std::string* log) {
  log->assign(200, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log->data(), reinterpret_cast<void*>(std::uintptr_t{log->size()})};
  const CUresult status = cuModuleLoadDataEx(module, text, 2, options, values);
  log->resize(std::strlen(log->c_str()));
  return status;
}

class DriverModules : public ::testing::Test {
 protected:
  DriverModules() {
    std::string log;
    EXPECT_EQ(load(kFill, &module_, &log), CUDA_SUCCESS) << log;
    EXPECT_EQ(cuModuleGetFunction(&fill_, module_, "fill"), CUDA_SUCCESS);
    EXPECT_EQ(cudaMalloc(&data_, 4), cudaSuccess);
  }
  ~DriverModules() override {
    sim::clear_device_errors();
    static_cast<void>(cudaFree(data_));
    static_cast<void>(cuModuleUnload(module_));
  }
  CUresult launch(CUfunction function, unsigned blocks = 1, unsigned threads = 1, unsigned shared = 0) {
    unsigned value = 5;
    void* arguments[] = {&data_, &value};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, nullptr, arguments, nullptr);
  }

  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr;
  void* data_ = nullptr;
};

TEST_F(DriverModules, AKernelRunsAndReadsItsModulesVariable) {
  ASSERT_EQ(launch(fill_), CUDA_SUCCESS);
  unsigned value = 0;
  ASSERT_EQ(cudaMemcpy(&value, data_, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 12U);
}

TEST_F(DriverModules, WhatIsNoPtxIsRefusedInWords) {
  CUmodule module = nullptr;
  std::string log;
  EXPECT_EQ(load("this is no PTX", &module, &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("line 1"), std::string::npos) << log;
  EXPECT_EQ(load(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nfrobnicate.u32;\nret;\n}\n", &module, &log),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("frobnicate.u32"), std::string::npos) << log;
  EXPECT_EQ(load("\x7f"
                 "ELF and so on",
                 &module, &log),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(log.find("nvrtcGetPTX"), std::string::npos) << log;
  EXPECT_EQ(load(nullptr, &module, &log), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(module, nullptr);
}

TEST_F(DriverModules, ALogIsCutWhereItsBufferEnds) {
  char log[8] = "1234567";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
  void* values[] = {reinterpret_cast<void*>(std::uintptr_t{4}), log};
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadDataEx(&module, "no PTX", 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(std::strlen(log), 3U);
  EXPECT_EQ(log[4], '5');
}

TEST_F(DriverModules, HandlesThatAreNotOnesAreRefused) {
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "nope"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(data_), "fill"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(data_)), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(fill_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModules, ALaunchThatNoGpuTakesIsRefused) {
  EXPECT_EQ(launch(fill_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(fill_, 1, 2048), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(fill_, 1, 1, (48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(fill_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(fill_), CUDA_SUCCESS);
}

TEST(DriverFunctions, AreFoundByName) {
  std::string problem;
  EXPECT_EQ(driver_function("cuLaunchKernel", &problem), reinterpret_cast<void*>(&cuLaunchKernel));
  EXPECT_EQ(driver_function("cuGraphLaunch", &problem), nullptr);
  EXPECT_EQ(problem, "The virtual GPU has no cuGraphLaunch.");
}

TEST(DriverStatuses, HaveNamesAndWords) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_PTX");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_INVALID_PTX, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "a PTX JIT compilation failed");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "named symbol not found");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace

}  // namespace lockstep::testing
