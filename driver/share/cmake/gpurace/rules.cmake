# For CUDA_SEPARABLE_COMPILATION with clang, CMake runs the toolkit's nvlink and fatbinary, then compiles
# their output. Here nvlink (of `gpurace toolkit`) runs `gclang++ -dlink`, which already makes the object. So
# this rule only copies it.
set(CMAKE_CUDA_DEVICE_LINK_COMPILE "<CMAKE_COMMAND> -E copy <FATBINARY> <OBJECT>")
