// Each thread moves its own 16 bytes, as `float4`, `int4`, `double2`.
#include "check.h"

__global__ void move(float4* f, int4* i, double2* d) {
    int t = threadIdx.x;
    float4 a = f[t];
    f[t] = make_float4(a.w, a.z, a.y, a.x);
    int4 b = i[t];
    i[t] = make_int4(b.y, b.x, b.w, b.z);
    double2 c = d[t];
    d[t] = make_double2(c.y, c.x);
    __syncthreads();
    float first = reinterpret_cast<float*>(f)[(4 * t + 17) % 256];
    __syncthreads();
    f[t].x = first;
}

int main() {
    Buffer<float> f(256);
    Buffer<int> i(256);
    Buffer<double> d(128);
    iota(f), iota(i), iota(d);
    move<<<1, 64>>>((float4*)f.device, (int4*)i.device, (double2*)d.device);
    SYNC();
    f.download(), i.download(), d.download();
    bool right = true;
    for (int t = 0; t < 64; t++) {
        int k = (4 * t + 17) % 256;
        right &= f[4 * t] == k / 4 * 4 + 3 - k % 4 && f[4 * t + 3] == 4 * t;
        right &= i[4 * t] == 4 * t + 1 && i[4 * t + 3] == 4 * t + 2;
        right &= d[2 * t] == 2 * t + 1;
    }
    return finish(right);
}
