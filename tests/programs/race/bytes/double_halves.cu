//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One thread writes a double, another one reads its upper half as an int.
#include "check.h"

__global__ void update(double* values, int* out) {
    int t = threadIdx.x;
    if (t < 32) values[t] = -1.5 * t; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (t >= 32) out[t - 32] = __double2hiint(values[t - 32]) < 0; //~ B
}
//~ RACE[racy] write-read global block: A B

int main() {
    Buffer<double> values(32);
    Buffer<int> out(32);
    update<<<1, 64>>>(values.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 1;
    return finish(right);
}
