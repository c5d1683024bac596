//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A grid barrier by hand: thread 0 counts its block in and waits for the others.
// Without the block's barriers around it, only thread 0 is ordered.
#include "check.h"

__device__ void wait_for_grid(int* arrived) {
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void rotate(int* a, int* b, int* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i; //~ A
    wait_for_grid(arrived);
    b[i] = a[(i + blockDim.x) % n]; //~ B
}
//~ RACE[racy] write-read global grid: A B

int main() {
    const int n = 192;
    Buffer<int> a(n), b(n), arrived(1);
    rotate<<<3, 64>>>(a.device, b.device, arrived.device, n);
    SYNC();
    b.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= b[i] == (i + 64) % n;
    return finish(right);
}
