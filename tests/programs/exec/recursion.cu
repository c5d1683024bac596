// Recursive device functions, with local arrays, at different depths per thread.
#include "check.h"

__device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ void hanoi(int n, int from, int to, int* moves) {
    int path[4] = {from, to, 3 - from - to, n};
    if (n == 0) return;
    hanoi(n - 1, path[0], path[2], moves);
    *moves += 1;
    hanoi(n - 1, path[2], path[1], moves);
}

__global__ void run(int* out) {
    int t = threadIdx.x, moves = 0;
    hanoi(t % 8, 0, 2, &moves);
    out[t] = ackermann(2, t % 5) + 1000 * moves;
}

int main() {
    Buffer<int> out(32);
    run<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 32; t++) right &= out[t] == 2 * (t % 5) + 3 + 1000 * ((1 << t % 8) - 1);
    return finish(right);
}
