// See nvToolsExt.h.
#include <nvtx3/nvToolsExtCuda.h>
