// A module of PTX on one device, through the CUDA driver.
#pragma once

#include <cuda.h>

#include <string>

namespace lockstep {

class DriverModule {
 public:
  DriverModule(int device, const std::string& ptx);  // throws an Error
  ~DriverModule();
  DriverModule(const DriverModule&) = delete;
  DriverModule& operator=(const DriverModule&) = delete;

  CUfunction function(const std::string& symbol) const;

 private:
  int device_;
  CUmodule module_ = nullptr;
};

struct DriverLaunch {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
};
CUresult driver_launch(CUfunction function, const DriverLaunch& launch, void** arguments);

// "CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed)".
std::string driver_status_text(CUresult status);

}  // namespace lockstep
