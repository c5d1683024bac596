# Builds the CUDA sources of a project with gclang++ for the host's processor, and checks them for data races:
#
#   cmake -B build --toolchain PATH/gpurace-toolchain.cmake
#
# Variables to set with -D:
#   GPURACE_SANITIZE   ON (the default): check every CUDA source. OFF: check only the targets given to
#                      gpurace_enable() of find_package(gpurace), and build the others without checks.
#   GPURACE_BIN_DIR    the folder of gclang++, if it is not in this checkout, this prefix or PATH
# The project keeps its own C and C++ compilers.

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
  # `gclang++` is a link to `gclang` and must keep its name, so only the folder is resolved.
  get_filename_component(gpurace_bin "${GPURACE_GCLANGXX}" DIRECTORY)
  get_filename_component(gpurace_bin "${gpurace_bin}" REALPATH)
  set(CMAKE_CUDA_COMPILER "${gpurace_bin}/gclang++")
endif()

# find_package(gpurace) finds the package beside this file.
set(gpurace_DIR "${CMAKE_CURRENT_LIST_DIR}" CACHE PATH "The folder of gpuraceConfig.cmake")

# Every compilation and link has these flags, even if the project overwrites CMAKE_CUDA_FLAGS. Compiler tests
# and targets that are not enabled must build too. For them, `-fgpurace-exec=cpu` alone builds without checks.
set(CMAKE_CUDA_COMPILER_ARG1 "-fgpurace-exec=cpu -Wno-unknown-cuda-version")
if(GPURACE_SANITIZE)
  string(PREPEND CMAKE_CUDA_COMPILER_ARG1 "-fsanitize=gpurace ")
endif()

# Links device code for CUDA_SEPARABLE_COMPILATION.
if(NOT CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA)
  set(CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA "${CMAKE_CURRENT_LIST_DIR}/rules.cmake")
endif()

# Device code is compiled for the first architecture that a project names.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()

# CMake asks the toolkit's nvcc for a version and links the toolkit's runtime. `gpurace toolkit` makes a folder that
# looks like a toolkit, outside of the build: CMake refuses to install a target that names headers in its build folder.
get_property(gpurace_try_compile GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT gpurace_try_compile)
  if(NOT CMAKE_CUDA_COMPILER MATCHES "gclang(\\+\\+)?$")
    message(FATAL_ERROR "gpurace: `CMAKE_CUDA_COMPILER` is `${CMAKE_CUDA_COMPILER}`, wanted `gclang++`\n"
      "hint: leave the choice of the compiler to this toolchain file")
  endif()
  get_filename_component(gpurace_bin "${CMAKE_CUDA_COMPILER}" REALPATH)
  get_filename_component(gpurace_bin "${gpurace_bin}" DIRECTORY)
  find_program(gpurace_tool NAMES gpurace NO_CACHE PATHS "${gpurace_bin}" NO_DEFAULT_PATH)
  if(NOT gpurace_tool)
    find_program(gpurace_tool NAMES gpurace NO_CACHE REQUIRED)
  endif()
  set(gpurace_kind "")
  if(NOT GPURACE_SANITIZE)
    set(gpurace_kind --bare)
  endif()
  execute_process(COMMAND "${gpurace_tool}" toolkit ${gpurace_kind}
    RESULT_VARIABLE gpurace_status OUTPUT_VARIABLE gpurace_toolkit ERROR_VARIABLE gpurace_said OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT gpurace_status EQUAL 0)
    # The user may have no folder for it.
    execute_process(COMMAND "${gpurace_tool}" toolkit ${gpurace_kind} "${CMAKE_BINARY_DIR}/gpurace-toolkit"
      RESULT_VARIABLE gpurace_status OUTPUT_VARIABLE gpurace_toolkit ERROR_VARIABLE gpurace_said OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(NOT gpurace_status EQUAL 0)
    message(FATAL_ERROR "gpurace: `${gpurace_tool} toolkit` failed: ${gpurace_status}\n${gpurace_said}")
  endif()
  set(CUDAToolkit_ROOT "${gpurace_toolkit}")
  # The old find_package(CUDA).
  set(CUDA_TOOLKIT_ROOT_DIR "${CUDAToolkit_ROOT}" CACHE PATH "A folder that looks like a CUDA toolkit")
  set(CUDA_NVCC_EXECUTABLE "${CUDAToolkit_ROOT}/bin/nvcc" CACHE FILEPATH "gclang++, called as nvcc")
  # Another compiler may link a program with static libraries that have kernels. It must find the runtime too.
  get_filename_component(gpurace_runtime_dir "${gpurace_toolkit}/lib64/libgpurace_rt.so" REALPATH)
  get_filename_component(gpurace_runtime_dir "${gpurace_runtime_dir}" DIRECTORY)
  add_link_options("LINKER:-rpath,${gpurace_runtime_dir}")
endif()
