//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A decoupled look-back: each block publishes its sum and a flag, then adds up the
// sums before it. The flag must be released, and acquired by who looks back.
#include "check.h"

__global__ void scan(const int* in, int* sums, int* flags, int* out) {
    __shared__ int before;
    int b = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 32; i++) sum += in[b * 32 + i];
        sums[b] = sum; //~ A
#ifdef FIXED
        __threadfence();
#endif
        atomicExch(&flags[b], 1);
        int total = 0;
        for (int p = b - 1; p >= 0; p--) {
            while (atomicAdd(&flags[p], 0) == 0) {
            }
#ifdef FIXED
            __threadfence();
#endif
            total += sums[p]; //~ B
        }
        before = total;
    }
    __syncthreads();
    int own = before;
    for (int i = 0; i <= t; i++) own += in[b * 32 + i];
    out[b * 32 + t] = own;
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(192), sums(6), flags(6), out(192);
    iota(in);
    scan<<<6, 32>>>(in.device, sums.device, flags.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 192; i++) right &= out[i] == i * (i + 1) / 2;
    return finish(right);
}
