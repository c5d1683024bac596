// See nvToolsExt.h.
#include <nvtx3/nvToolsExtCudaRt.h>
