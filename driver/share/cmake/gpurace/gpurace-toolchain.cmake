# Builds a project's CUDA with gclang++ for the host's processor, checked for data races:
#
#   cmake -B build --toolchain PATH/gpurace-toolchain.cmake
#
# Variables to set with -D:
#   GPURACE_SANITIZE   ON: every CUDA source is checked (the default). OFF: only targets given to
#                      gpurace_enable() of find_package(gpurace); the rest is built as it is.
#   GPURACE_BIN_DIR    the folder of gclang++, where it is neither in this checkout or prefix nor in PATH
# The C and C++ compilers stay the project's own.

cmake_minimum_required(VERSION 3.25)

option(GPURACE_SANITIZE "Check every CUDA source for data races" ON)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPURACE_SANITIZE GPURACE_BIN_DIR)

if(NOT CMAKE_CUDA_COMPILER)
  # In an installed prefix this file is in share/cmake/gpurace, in a checkout in driver/share/cmake/gpurace.
  find_program(GPURACE_GCLANGXX NAMES gclang++ NO_CACHE
    PATHS ${GPURACE_BIN_DIR} "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../target/release"
    NO_DEFAULT_PATH)
  if(NOT GPURACE_GCLANGXX)
    find_program(GPURACE_GCLANGXX NAMES gclang++ NO_CACHE)
  endif()
  if(NOT GPURACE_GCLANGXX)
    message(FATAL_ERROR "gpurace: `gclang++` was not found\nhint: build it with `scripts/setup`, or set `-DGPURACE_BIN_DIR=DIR`")
  endif()
  # `gclang++` is a link to `gclang`, which knows C++ by its own name: only the folder is made plain.
  get_filename_component(gpurace_bin "${GPURACE_GCLANGXX}" DIRECTORY)
  get_filename_component(gpurace_bin "${gpurace_bin}" REALPATH)
  set(CMAKE_CUDA_COMPILER "${gpurace_bin}/gclang++")
endif()

# find_package(gpurace) finds the package beside this file.
set(gpurace_DIR "${CMAKE_CURRENT_LIST_DIR}" CACHE PATH "The folder of gpuraceConfig.cmake")

# Part of the compiler's name, so to say: whatever a project makes of CMAKE_CUDA_FLAGS, each compilation and each link has them.
# `-fgpurace-exec=cpu` on its own builds without checks: compiler tests and targets that nobody enabled must build too.
set(CMAKE_CUDA_COMPILER_ARG1 "-fgpurace-exec=cpu -Wno-unknown-cuda-version")
if(GPURACE_SANITIZE)
  string(PREPEND CMAKE_CUDA_COMPILER_ARG1 "-fsanitize=gpurace ")
endif()

# How CMake links device code for CUDA_SEPARABLE_COMPILATION.
if(NOT CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA)
  set(CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA "${CMAKE_CURRENT_LIST_DIR}/rules.cmake")
endif()

# Only the first architecture that a project names is compiled for; it chooses the branches of __CUDA_ARCH__.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()

# CMake asks a toolkit's nvcc for its version, and links the toolkit's runtime. This folder answers as a toolkit
# would: gclang's headers, gpurace's runtime under the runtime's names, and an nvcc that is gclang++.
get_property(gpurace_try_compile GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT gpurace_try_compile)
  include("${CMAKE_CURRENT_LIST_DIR}/toolkit.cmake")
  gpurace_make_toolkit("${CMAKE_CUDA_COMPILER}" "${CMAKE_BINARY_DIR}/gpurace-toolkit" "${CMAKE_CUDA_COMPILER_ARG1}")
  set(CUDAToolkit_ROOT "${CMAKE_BINARY_DIR}/gpurace-toolkit")
  # Programs that another compiler links, from static libraries with kernels, find the runtime too.
  add_link_options("LINKER:-rpath,${gpurace_runtime_dir}")
endif()
