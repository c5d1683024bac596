// Since CUDA 13 a header of gpurace declares this iterator (gpurace/cub12.h).
#pragma once
#include <cub/thread/thread_operators.cuh>
