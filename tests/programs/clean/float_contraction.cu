// Products and sums that rounding tells apart: checks must not change which are fused.
#include "check.h"

__global__ void horner(const float* x, float* out, const double* dx, double* dout) {
    int t = threadIdx.x;
    float p = 0.1f;
    double q = 0.1;
    for (int k = 0; k < 12; k++) {
        p = p * x[t] + 0.3f;
        q = q * dx[t] + 0.3;
    }
    out[t] = p;
    dout[t] = q;
}

int main() {
    Buffer<float> x(32), out(32);
    Buffer<double> dx(32), dout(32);
    for (int i = 0; i < 32; i++) x[i] = 0.7f + 0.01f * i, dx[i] = 0.7 + 0.01 * i;
    x.upload(), dx.upload();
    horner<<<1, 32>>>(x.device, out.device, dx.device, dout.device);
    SYNC();
    out.download(), dout.download();
    for (int i = 0; i < 32; i++) printf("%a %a\n", out[i], dout[i]);
    return finish(out[0] > 0.9f && dout[31] > 0.9);
}
