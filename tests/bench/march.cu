// A stencil over a volume. Each thread of an area walks along z, and reads and writes in its loop.
__global__ void march(const float* in, float* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int layer = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + layer];
    for (int z = 1; z < nz - 1; z++) {
        at += layer;
        float above = in[at + layer];
        out[at] = here * 2 + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
        below = here;
        here = above;
    }
}
#include "march.h"
