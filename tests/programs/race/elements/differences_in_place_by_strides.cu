//@ revisions: racy fixed
//@[racy] findings: missing-barrier|loop-back-edge loop-back-edge
//@[racy] fixes: 0
// A strided loop writes the array that it reads: within an iteration a thread reads what the next one writes, so no
// barrier at the loop's end orders them. In the second kernel, threads of different iterations alone share an element.
#include "check.h"

__global__ void differences(const int* in, int* out, int n) {
    __shared__ int from[300], to[300];
    for (int i = threadIdx.x; i < 300; i += blockDim.x) from[i] = in[i];
    __syncthreads();
#ifdef FIXED
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i + 1] - from[i];
#else
    for (int i = threadIdx.x; i < n; i += blockDim.x) from[i] = from[i + 1] - from[i]; //~ A
#endif
    __syncthreads();
#ifdef FIXED
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = to[i];
#else
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = from[i];
#endif
}
//~ RACE[racy] write-read shared: A A

__global__ void rounds(int* out, int n) {
    __shared__ int s[300];
    int t = threadIdx.x;
    if (t < 64) s[t] = t;
    __syncthreads();
    for (int i = t + 64; i < n; i += 64) {
#ifdef FIXED
        s[i] = s[i - 64] + 1;
#else
        s[i] = s[(i ^ 1) - 64] + 1; //~ B
#endif
    }
    __syncthreads();
    for (int i = t; i < n; i += 64) out[i] = s[i];
}
//~ RACE[racy] write-read shared: B B

int main() {
    const int n = 290;
    Buffer<int> in(300), out(300), steps(300);
    for (int i = 0; i < 300; i++) in[i] = i * i;
    in.upload();
    differences<<<1, 64>>>(in.device, out.device, n);
    SYNC();
    rounds<<<1, 64>>>(steps.device, n);
    SYNC();
    out.download();
    steps.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= out[i] == 2 * i + 1 && steps[i] == i % 64 + i / 64;
    return finish(right);
}
