// Since CUDA 13 a header of gpurace declares `thrust::optional` (gpurace/thrust12.h).
#pragma once
#include <thrust/functional.h>
