//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// An mbarrier that tracks copies tells all who wait for its phase that they are
// done; a block barrier instead of that wait does not.
#include "check.h"

__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__global__ void reverse(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ unsigned long long done;
    int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&done)), "r"(64) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[t])), "l"(&in[t]) : "memory"); //~ A
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&done)) : "memory");
#ifdef FIXED
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "WAIT:\n"
        "mbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n"
        "@!p bra WAIT;\n"
        "}" ::"r"(shared_address(&done)) : "memory");
#else
    __syncthreads();
#endif
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(64), out(64);
    iota(in);
    reverse<<<1, 64>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
