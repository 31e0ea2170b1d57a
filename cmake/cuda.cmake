# The language CUDA, for DEQUANT_CUDA.
find_package(CUDAToolkit 12 REQUIRED)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Each major architecture: all that CUDA 13 knows have parameters of kernels that do not change
  # (__grid_constant__), of CUDA 12 those from 70 on.
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
    set(CMAKE_CUDA_ARCHITECTURES all-major)
  elseif(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 70 80 90 100)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 70 80 90)
  endif()
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know how nvcc is told of C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
