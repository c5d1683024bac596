//@ revisions: racy fixed
//@[racy] findings: loop-back-edge
// Each thread has a query and looks for the nearest key, tile by tile. The next tile's loop overwrites keys that slow
// threads still compare. No statement at the end of the loop's body leaves code behind: a barrier must stand before
// the brace.
#include "check.h"

const int TILE = 96, THREADS = 64;

__global__ void nearest(const int* queries, const int* keys, int* out, int n) {
    extern __shared__ int tile[];
    const int t = threadIdx.x, query = queries[t];
    int best = 1 << 30;
    for (int first = 0; first < n; first += TILE) {
        for (int i = t; i < TILE; i += blockDim.x) tile[i] = keys[first + i]; //~ A
        __syncthreads();
        int of_tile = best;
        for (int i = 0; i < TILE; i++) of_tile = min(of_tile, abs(query - tile[i])); //~ B
        best = of_tile;
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[threadIdx.x] = best;
}
//~ RACE[racy] read-write shared: B A

int main() {
    Buffer<int> queries(THREADS), keys(3 * TILE), out(THREADS);
    iota(queries);
    for (int i = 0; i < 3 * TILE; i++) keys[i] = 10 * i + 3;
    keys.upload();
    nearest<<<1, THREADS, TILE * sizeof(int)>>>(queries.device, keys.device, out.device, 3 * TILE);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < THREADS; i++) {
        int best = 1 << 30;
        for (int k = 0; k < 3 * TILE; k++) best = min(best, abs(i - (10 * k + 3)));
        right &= out[i] == best;
    }
    return finish(right);
}
