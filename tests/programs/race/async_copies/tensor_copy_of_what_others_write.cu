//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Each block writes a row of a matrix and loads a box of it. The box must not have the row of another block. Only the
// tensor map says which memory the load reads.
#include "tensor_map.h"

const int X = 32, Y = 8;
#ifdef FIXED
const int ROWS = 1;
#else
const int ROWS = 2;
#endif

__global__ void twice(const __grid_constant__ CUtensorMap map, int* data, int* out) {
    __shared__ alignas(128) int tile[ROWS][X];
    __shared__ uint64_t full;
    int t = threadIdx.x, y = blockIdx.x;
    data[y * X + t] = 2 * t; //~ W
    asm volatile("fence.proxy.async;" ::: "memory");
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (t == 0) {
        const int32_t at[] = {0, y};
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &full); //~ R
    }
    wait(&full, 0);
    out[y * X + t] = tile[0][t];
}
//~ RACE[racy] read-write|write-read global: W R

int main() {
    Buffer<int> data(X * Y), out(X * Y);
    twice<<<Y, X>>>(matrix(X, Y, X, ROWS).map(data.device), data.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < X * Y; i++) right &= out[i] == 2 * (i % X);
    return finish(right);
}
