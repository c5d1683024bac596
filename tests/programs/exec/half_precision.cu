// `__half` arithmetic and conversions, exact values only.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "check.h"

__global__ void compute(const float* in, float* out) {
    int t = threadIdx.x;
    __half a = __float2half(in[t]), b = __float2half(0.5f);
    out[6 * t] = __half2float(__hadd(a, b));
    out[6 * t + 1] = __half2float(__hmul(a, b));
    out[6 * t + 2] = __half2float(__hfma(a, b, a));
    __half2 pair = __hadd2(__halves2half2(a, b), __float2half2_rn(1.0f));
    out[6 * t + 3] = __low2float(pair) + __high2float(pair);
    out[6 * t + 4] = __hgt(a, b) ? 1 : 0;
    out[6 * t + 5] = __bfloat162float(__float2bfloat16(in[t]));
}

int main() {
    Buffer<float> in(32), out(6 * 32);
    for (int i = 0; i < 32; i++) in[i] = 0.25f * i;
    in.upload();
    compute<<<1, 32>>>(in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) {
        float a = 0.25f * i, *o = &out[6 * i];
        right &= o[0] == a + 0.5f && o[1] == a * 0.5f && o[2] == a * 1.5f;
        right &= o[3] == a + 2.5f && o[4] == (a > 0.5f) && o[5] == a;
    }
    return finish(right);
}
