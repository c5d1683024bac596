# CUDA_SEPARABLE_COMPILATION with clang: CMake runs the toolkit's nvlink and fatbinary, then compiles what they left.
# Here nvlink (toolkit.cmake makes it) is `gclang++ -dlink`, which makes the object at once: it only has to arrive.
set(CMAKE_CUDA_DEVICE_LINK_COMPILE "<CMAKE_COMMAND> -E copy <FATBINARY> <OBJECT>")
