// Loads and stores with cache hints move values of each type that CUDA declares them for.
#include "check.h"

template <class T>
__global__ void copy(const T* in, T* out) {
    int t = threadIdx.x;
    T v = t % 5 == 0 ? __ldca(in + t) : t % 5 == 1 ? __ldcg(in + t) : t % 5 == 2 ? __ldcs(in + t) : t % 5 == 3 ? __ldlu(in + t) : __ldcv(in + t);
    if (t % 4 == 0) __stwb(out + t, v);
    if (t % 4 == 1) __stcg(out + t, v);
    if (t % 4 == 2) __stcs(out + t, v);
    if (t % 4 == 3) __stwt(out + t, v);
}

template <class T>
static bool check() {
    Buffer<T> in(40), out(40);
    auto bytes = reinterpret_cast<unsigned char*>(in.host);
    for (size_t i = 0; i < 40 * sizeof(T); i++) bytes[i] = i * 7 % 251;
    in.upload();
    copy<<<1, 40>>>(in.device, out.device);
    SYNC();
    out.download();
    return memcmp(in.host, out.host, 40 * sizeof(T)) == 0;
}

int main() {
    bool right = check<char>() && check<unsigned short>() && check<int>() && check<unsigned long long>();
    right = check<float>() && check<double>() && right;
    return finish(check<uchar4>() && check<short2>() && check<float4>() && check<double2>() && right);
}
