// Device mathematics against the host's, within the errors that CUDA's guide allows.
#include <cmath>
#include "check.h"

#define FUNCTIONS(F)                                                                          \
    F(sin, 2) F(cos, 2) F(tan, 4) F(exp, 2) F(log, 2) F(log2, 2) F(log10, 3) F(exp2, 2)       \
    F(sqrt, 0) F(rsqrt, 2) F(cbrt, 2) F(sinh, 3) F(cosh, 2) F(tanh, 2) F(asin, 3) F(acos, 3)  \
    F(atan, 2) F(erf, 2) F(erfc, 5) F(lgamma, 6) F(tgamma, 10) F(expm1, 2) F(log1p, 2)        \
    F(floor, 0) F(ceil, 0) F(trunc, 0) F(rint, 0) F(fabs, 0)

constexpr int N = 64;

#define ENTRY(name, ulps) out[k++ * N + t] = name(x);
__global__ void evaluate(const double* in, double* out, const float* fin, float* fout) {
    int t = threadIdx.x, k = 0;
    {
        double x = in[t];
        FUNCTIONS(ENTRY)
        out[k++ * N + t] = pow(x, 1.7);
        out[k++ * N + t] = fmod(x * 10, 0.7);
        out[k++ * N + t] = fma(x, x, -1.0);
        out[k++ * N + t] = hypot(x, 0.3);
    }
    float x = fin[t];
    fout[t] = sinf(x) - cosf(x);
    fout[N + t] = __fdividef(x, 3.0f) + __expf(x) + sqrtf(x);
    fout[2 * N + t] = fmaf(x, x, 1.0f) + powf(x, 0.5f) + __saturatef(x * 3);
}

double ulps(double got, double want) {
    if (got == want) return 0;
    return fabs(got - want) / (nextafter(fabs(want), INFINITY) - fabs(want));
}

static double rsqrt_host(double x) { return 1 / sqrt(x); }

int main() {
    Buffer<double> in(N), out(40 * N);
    Buffer<float> fin(N), fout(3 * N);
    for (int i = 0; i < N; i++) in[i] = 0.01 + 0.98 * i / N, fin[i] = (float)in[i];
    in.upload(), fin.upload();
    evaluate<<<1, N>>>(in.device, out.device, fin.device, fout.device);
    SYNC();
    out.download(), fout.download();
    int wrong = 0;
    for (int t = 0; t < N; t++) {
        int k = 0;
        double x = in[t];
#define rsqrt rsqrt_host
#define CHECK(name, limit)                                                                    \
    if (ulps(out[k++ * N + t], name(x)) > limit) {                                            \
        printf("%s(%a) is %a, wanted %a\n", #name, x, out[(k - 1) * N + t], name(x));         \
        wrong++;                                                                              \
    }
        FUNCTIONS(CHECK)
        wrong += ulps(out[k++ * N + t], pow(x, 1.7)) > 2;
        wrong += ulps(out[k++ * N + t], fmod(x * 10, 0.7)) > 0;
        wrong += ulps(out[k++ * N + t], fma(x, x, -1.0)) > 0;
        wrong += ulps(out[k++ * N + t], hypot(x, 0.3)) > 2;
        double f = fin[t];
        wrong += fabs(fout[t] - (sin(f) - cos(f))) > 1e-6;
        wrong += fabs(fout[N + t] - (f / 3 + exp(f) + sqrt(f))) > 1e-5;
        wrong += fabs(fout[2 * N + t] - (f * f + 1 + sqrt(f) + (f * 3 > 1 ? 1 : f * 3))) > 1e-5;
    }
    return finish(wrong == 0);
}
