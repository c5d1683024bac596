//@ compile-flags: --cuda-gpu-arch=sm_90
//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// Each block loads a tile of a matrix and adds one to each element. The barrier of the block does not wait for the load.
#include "tensor_map.h"

const int WIDTH = 40, HEIGHT = 20, X = 16, Y = 8;

__global__ void add_one(const __grid_constant__ CUtensorMap map, int* out) {
    __shared__ alignas(128) int tile[Y][X];
    __shared__ uint64_t full;
    int x = threadIdx.x, y = threadIdx.y, column = X * blockIdx.x, row = Y * blockIdx.y;
    if (x == 0 && y == 0) {
        const int32_t at[] = {column, row};
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &full); //~ A
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
#ifdef FIXED
    wait(&full, 0);
#endif
    int value = tile[y][x] + 1; //~ B
    if (column + x < WIDTH && row + y < HEIGHT) out[(row + y) * WIDTH + column + x] = value;
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> data(WIDTH * HEIGHT), out(WIDTH * HEIGHT);
    iota(data);
    add_one<<<dim3(3, 3), dim3(X, Y)>>>(matrix(WIDTH, HEIGHT, X, Y).map(data.device), out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < WIDTH * HEIGHT; i++) right &= out[i] == i + 1;
    return finish(right);
}
