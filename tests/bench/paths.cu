// Shortest paths between all points (Floyd and Warshall): a launch for each point in between.
__global__ void paths(int n, int k, int* lengths) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int through = lengths[y * n + k] + lengths[k * n + x];
    if (through < lengths[y * n + x]) lengths[y * n + x] = through;
}
#include "paths.h"
