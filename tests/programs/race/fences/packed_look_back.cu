//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A look-back whose state and value travel in one 64-bit word needs no order for the value; what lies beside it does.
#include "check.h"
__global__ void scan(const int* in, int* out, unsigned long long* state, int* side) {
    int b = blockIdx.x;
    if (threadIdx.x) return;
    side[b] = in[b] * 2; //~ W
#ifdef FIXED
    __threadfence();
#endif
    atomicExch(&state[b], 1ull << 32 | (unsigned)in[b]);
    int sum = 0;
    for (int p = b - 1; p >= 0; p--) {
        unsigned long long s;
        while (((s = atomicAdd(&state[p], 0)) >> 32) == 0) {}
        sum += (int)(unsigned)s;
    }
#ifdef FIXED
    __threadfence();
#endif
    out[b] = sum + (b ? side[b - 1] : 0); //~ R
}
//~ RACE[racy] write-read global grid: W R
int main() {
    const int n = 16;
    Buffer<int> in(n), out(n), side(n);
    Buffer<unsigned long long> state(n);
    iota(in);
    scan<<<n, 32>>>(in.device, out.device, state.device, side.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 1; i < n; i++) right &= out[i] == i * (i - 1) / 2 + 2 * (i - 1);
    return finish(right);
}
