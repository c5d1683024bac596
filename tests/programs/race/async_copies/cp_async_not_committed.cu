//@ revisions: racy fixed
//@[racy] findings: unwaited-copy
// `cp.async.wait_group` waits for groups: a copy that was not committed to one
// is not waited for. `cp.async.wait_all` waits for it, too.
#include "check.h"

__device__ void copy_16(void* to, const void* from) {
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory"); //~ A
}

__global__ void reverse(const int4* in, int4* out) {
    __shared__ int4 tile[64];
    int t = threadIdx.x;
    copy_16(&tile[t], &in[t]);
#ifdef FIXED
    asm volatile("cp.async.wait_all;" ::: "memory");
#else
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
    __syncthreads();
    out[t] = tile[63 - t]; //~ B
}
//~ RACE[racy] write-read shared: A B

int main() {
    Buffer<int> in(256), out(256);
    iota(in);
    reverse<<<1, 64>>>(reinterpret_cast<int4*>(in.device), reinterpret_cast<int4*>(out.device));
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 256; i++) right &= out[i] == (63 - i / 4) * 4 + i % 4;
    return finish(right);
}
