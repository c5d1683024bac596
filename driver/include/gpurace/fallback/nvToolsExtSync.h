// See nvToolsExt.h.
#include <nvtx3/nvToolsExtSync.h>
