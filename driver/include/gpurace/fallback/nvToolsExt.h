// NVTX under its older name, in C and C++. Used only if the toolkit has no header of this name: gclang
// searches this folder last. CUDA 13 has only NVTX 3, whose functions have the same names.
#include <nvtx3/nvToolsExt.h>
