//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Shortest paths, a round per intermediate node. Row and column of that node do not change
// in its round, so one launch per round is right, and rounds in one launch are not.
#include "check.h"

__global__ void relax(int* paths, int n, int first, int last) {
    int x = threadIdx.x, y = blockIdx.x;
    for (int k = first; k < last; k++) {
        int left = paths[y * n + k]; //~ A
        int up = paths[k * n + x]; //~ B
        int own = paths[y * n + x];
        if (left + up < own) paths[y * n + x] = left + up; //~ W
    }
}
//~ RACE[racy] write-read|read-write global: W B
//~ RACE?[racy] write-read|read-write global: W A

int main() {
    const int n = 16;
    Buffer<int> paths(n * n);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) paths[y * n + x] = x == y ? 0 : x == (y + 1) % n ? 1 : 1000;
    paths.upload();
#ifdef FIXED
    for (int k = 0; k < n; k++) relax<<<n, n>>>(paths.device, n, k, k + 1);
#else
    relax<<<n, n>>>(paths.device, n, 0, n);
#endif
    SYNC();
    paths.download();
    bool right = true;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) right &= paths[y * n + x] == (x - y + n) % n;
    return finish(right);
}
