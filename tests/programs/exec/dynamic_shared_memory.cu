// Dynamic shared memory: its size per launch, two views of it, after static arrays.
#include "check.h"

__global__ void reverse(const double* in, double* out, int n) {
    __shared__ int count[3];
    extern __shared__ double values[];
    char* tail = reinterpret_cast<char*>(values + n);
    int t = threadIdx.x;
    if (t < 3) count[t] = n;
    values[t] = in[t];
    tail[t] = static_cast<char>(t);
    __syncthreads();
    out[t] = values[n - 1 - t] + tail[(t + 1) % n] + (count[t % 3] - n);
}

int main() {
    bool right = true;
    for (int n = 16; n <= 512; n *= 2) {
        Buffer<double> in(n), out(n);
        iota(in);
        reverse<<<1, n, n * 9>>>(in.device, out.device, n);
        SYNC();
        out.download();
        for (int i = 0; i < n; i++) right &= out[i] == n - 1 - i + static_cast<signed char>((i + 1) % n);
    }
    return finish(right);
}
