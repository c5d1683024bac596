// A step of a breadth-first search. A vertex without a level looks for a neighbour of the last one.
__global__ void levels(int n, int level, const int* starts, const int* neighbours, const int* in, int* out) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int own = in[v];
    for (int i = starts[v]; own < 0 && i < starts[v + 1]; i++)
        if (in[neighbours[i]] == level) own = level + 1;
    out[v] = own;
}
#include "levels.h"
