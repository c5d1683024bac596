//@ revisions: skipped full hidden
//@[skipped] findings: divergence divergence divergence divergence
//@[hidden] options: skipped_barrier=ignore
// A barrier under a condition at the end of a kernel: threads that skip it end, and hardware lets the others pass. CUDA
// wants all threads of the block there. It is no matter if all come.
#include "check.h"

#ifdef FULL
constexpr int REST = 0;
#else
constexpr int REST = 20;
#endif

__global__ void in_a_branch(int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (blockIdx.x >= 1) return;
    if (t < n) {
        tile[t] = t;
        __syncthreads(); //~ A
        out[t] = tile[n - 1 - t];
        __syncthreads();
    }
}

__global__ void in_a_loop(int* out, int n) {
    __shared__ int tile[64];
    for (int i = threadIdx.x; i < n; i += 64) {
        tile[threadIdx.x] = i;
        __syncthreads(); //~ B
        out[i] = tile[threadIdx.x];
        __syncthreads();
    }
}

__global__ void in_two_dimensions(int* out, int width, int height) {
    __shared__ int tile[64];
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height) {
        tile[y * 8 + x] = x;
        __syncthreads(); //~ C
        out[y * width + x] = tile[y * 8 + x];
    }
}

__global__ void counted(int* out, int n) {
    if (threadIdx.x < n) {
        int even = __syncthreads_count(threadIdx.x % 2 == 0); //~ D
        out[threadIdx.x] = even;
    }
}
//~ DIVERGENCE[skipped] skipped-barrier: A exited
//~ DIVERGENCE[skipped] skipped-barrier: B exited
//~ DIVERGENCE[skipped] skipped-barrier: C exited
//~ DIVERGENCE[skipped] skipped-barrier: D exited

int main() {
    Buffer<int> out(128);
    bool right = true;
    int n = 64 - REST;
    in_a_branch<<<2, 64>>>(out.device, n);
    SYNC();
    out.download();
    for (int i = 0; i < n; i++) right &= out[i] == n - 1 - i;
    in_a_loop<<<1, 64>>>(out.device, 64 + n);
    SYNC();
    out.download();
    for (int i = 0; i < 64 + n; i++) right &= out[i] == i;
    in_two_dimensions<<<1, dim3(8, 8)>>>(out.device, 8 - REST / 10, 8 - REST / 5);
    SYNC();
    out.download();
    for (int i = 0; i < (8 - REST / 10) * (8 - REST / 5); i++) right &= out[i] == i % (8 - REST / 10);
    counted<<<1, 64>>>(out.device, n);
    SYNC();
    out.download();
    for (int i = 0; i < n; i++) right &= out[i] == n / 2;
    return finish(right);
}
