# NVIDIA's toolkit and libraries.
enable_language(CUDA)
message(FATAL_ERROR "cmake/Backend-cuda.cmake is being written")
