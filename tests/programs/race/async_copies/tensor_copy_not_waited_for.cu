//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Each block loads a tile of a matrix, adds one to each element and stores the tile. The barrier of the block does not
// wait for the load.
#include "tensor_map.h"

const int WIDTH = 40, HEIGHT = 20, X = 16, Y = 8;

__global__ void add_one(const __grid_constant__ CUtensorMap map) {
    __shared__ alignas(128) int tile[Y][X];
    __shared__ uint64_t full;
    int x = threadIdx.x, y = threadIdx.y;
    const int32_t at[] = {int32_t(X * blockIdx.x), int32_t(Y * blockIdx.y)};
    if (x == 0 && y == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &full); //~ A
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
#ifdef FIXED
    wait(&full, 0);
#endif
    tile[y][x] += 1; //~ B
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (x == 0 && y == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
//~ RACE[racy] write-read shared: A B
//~ RACE[racy] write-write shared: A B

int main() {
    Buffer<int> data(WIDTH * HEIGHT);
    iota(data);
    add_one<<<dim3(3, 3), dim3(X, Y)>>>(matrix(WIDTH, HEIGHT, X, Y).map(data.device));
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < WIDTH * HEIGHT; i++) right &= data[i] == i + 1;
    return finish(right);
}
