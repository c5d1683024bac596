//@ revisions: proved checked
//@ stdout: right
//@[checked] compile-flags: -fgpurace-prune=off
// Device code joins a product with a sum: it rounds once, as `fmaf` does. A check between the two changes no bit.
#include "check.h"
#include <cmath>

constexpr int N = 256, TAPS = 5;

struct Results {
    float chain, left, right, both, minus, product;
    double wide;
    float2 vector;
};

// Reads two values at `i`, each of them by an access of its own between a product and its sum.
__global__ void compute(const float* a, const float* b, const double* d, Results* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float chain = 0;
    for (int j = 0; j < TAPS; j++) chain += a[(i + j) % n] * b[(i + 3 * j) % n];
    out[i].chain = chain;
    float x = a[i], y = b[i];
    float product = x * y;
    out[i].left = product + a[(i + 1) % n];
    out[i].right = b[(i + 1) % n] - product;
    out[i].both = x * x + y * y;
    out[i].minus = x * y - b[(i + 2) % n];
    out[i].product = product;
    out[i].wide = d[i] * d[(i + 1) % n] + d[(i + 2) % n];
    out[i].vector = make_float2(x * y + out[i].left, __fadd_rn(__fmul_rn(x, y), x));
}

// The same number; the host's compiler does not look through it.
template <class T>
T rounded(T value) {
    volatile T kept = value;
    return kept;
}

int main() {
    Buffer<float> a(N), b(N);
    Buffer<double> d(N);
    Buffer<Results> out(N);
    for (int i = 0; i < N; i++) {
        a[i] = 1.0f / (i + 3);
        b[i] = 1.0f / (2 * i + 7);
        d[i] = 1.0 / (3 * i + 11);
    }
    a.upload();
    b.upload();
    d.upload();
    compute<<<4, N / 4>>>(a.device, b.device, d.device, out.device, N);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < N; i++) {
        Results r = out[i];
        float chain = 0, x = a[i], y = b[i], product = rounded(x * y);
        for (int j = 0; j < TAPS; j++) chain = fmaf(a[(i + j) % N], b[(i + 3 * j) % N], chain);
        bool same = r.chain == chain && r.left == fmaf(x, y, a[(i + 1) % N]) && r.right == fmaf(-x, y, b[(i + 1) % N]) &&
                    r.both == fmaf(x, x, rounded(y * y)) && r.minus == fmaf(x, y, -b[(i + 2) % N]) &&
                    r.product == product && r.wide == fma(d[i], d[(i + 1) % N], d[(i + 2) % N]) &&
                    r.vector.x == fmaf(x, y, r.left) && r.vector.y == rounded(product + x);
        if (!same) printf("element %d differs\n", i);
        right = right && same;
    }
    return finish(right);
}
