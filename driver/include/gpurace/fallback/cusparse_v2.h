// cuSPARSE's interface under an older name of its header.
#include "cusparse.h"
