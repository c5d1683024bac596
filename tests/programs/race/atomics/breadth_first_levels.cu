//@ revisions: racy fixed
//@[racy] findings: same-value
// Breadth-first search, a launch per level, from an old array of levels to a new one.
// Neighbours of two nodes are given their level twice: the same value, and a race all
// the same.
#include "check.h"

__global__ void expand(const int* start, const int* edges, const int* level, int* next, int now) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (level[v] != now) return;
    for (int e = start[v]; e < start[v + 1]; e++) {
        int to = edges[e];
        if (level[to] != -1) continue;
#ifdef FIXED
        atomicExch(&next[to], now + 1);
#else
        next[to] = now + 1; //~ A
#endif
    }
}
//~ RACE[racy] write-write global same-value: A A

int main() {
    // A torus of 8 x 8 nodes: each one has four neighbours.
    const int side = 8, n = side * side;
    Buffer<int> start(n + 1), edges(4 * n), level(n), next(n);
    for (int v = 0; v <= n; v++) start[v] = 4 * v;
    for (int v = 0; v < n; v++) {
        int x = v % side, y = v / side;
        edges[4 * v] = y * side + (x + 1) % side;
        edges[4 * v + 1] = y * side + (x + side - 1) % side;
        edges[4 * v + 2] = (y + 1) % side * side + x;
        edges[4 * v + 3] = (y + side - 1) % side * side + x;
        level[v] = next[v] = v ? -1 : 0;
    }
    start.upload(), edges.upload(), level.upload(), next.upload();
    for (int now = 0; now < side; now++) {
        expand<<<2, n / 2>>>(start.device, edges.device, level.device, next.device, now);
        CUDA(cudaMemcpy(level.device, next.device, n * sizeof(int), cudaMemcpyDeviceToDevice));
    }
    SYNC();
    level.download();
    bool right = true;
    for (int v = 0; v < n; v++) {
        int x = v % side, y = v / side;
        right &= level[v] == min(x, side - x) + min(y, side - y);
    }
    return finish(right);
}
