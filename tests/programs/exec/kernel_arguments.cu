// Structs by value, narrow types, references to arrays in structs, many arguments, templates.
#include "check.h"

struct Parameters {
    char kind;
    double factor;
    short offsets[5];
    int3 shape;
};

template <int K, class T>
__global__ void apply(bool negate, char c, Parameters p, T value, float4 v, short s, unsigned long long w, double* out) {
    p.offsets[4] += K;
    double sum = c + p.kind + p.factor + p.offsets[4] + p.shape.z + value + v.w + s + (double)w;
    *out = negate ? -sum : sum;
}

// Device code copies it by instructions that count on its alignment.
struct alignas(128) Wide {
    double values[16];
};

__global__ void pick(int before, Wide w, int n, double* out) {
    Wide copy = w;
    copy.values[n + 1] += before;
    *out = copy.values[n] + copy.values[n + 1];
}

static bool aligned_arguments() {
    Buffer<double> out(20);
    Wide w = {};
    for (int i = 0; i < 16; i++) w.values[i] = i;
    for (int i = 0; i < 15; i++) pick<<<1, 1>>>(100, w, i, out.device + i);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 15; i++) right &= out[i] == 2 * i + 101;
    return right;
}

int main() {
    Buffer<double> out(2);
    Parameters p = {1, 0.5, {0, 0, 0, 0, 7}, make_int3(1, 2, 3)};
    apply<100><<<1, 1>>>(true, 'A', p, 2.25f, make_float4(1, 2, 3, 4), (short)-9, 1ull << 40, out.device);
    apply<-1><<<1, 1>>>(false, '\1', p, 1000000000000ll, make_float4(0, 0, 0, 0), (short)0, 0ull, out.device + 1);
    SYNC();
    out.download();
    double first = 65 + 1 + 0.5 + 107 + 3 + 2.25 + 4 - 9 + (double)(1ull << 40);
    return finish(aligned_arguments() && out[0] == -first && out[1] == 1 + 1 + 0.5 + 6 + 3 + 1e12);
}
