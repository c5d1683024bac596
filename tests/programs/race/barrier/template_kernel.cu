//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// One line of a template is several sites, one for each instance.
#include "check.h"

template <class T, int N>
__global__ void prefix(T* data) {
    __shared__ T tile[N];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        T sum = tile[t];
        if (t >= d) sum += tile[t - d]; //~ A
#ifdef FIXED
        __syncthreads();
#endif
        tile[t] = sum; //~ B
        __syncthreads();
    }
    data[t] = tile[t];
}
//~ RACE[racy] read-write shared: A B

template <class T, int N>
bool prefix_is_right() {
    Buffer<T> data(N);
    iota(data);
    prefix<T, N><<<1, N>>>(data.device);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < N; i++) right &= data[i] == T(i * (i + 1) / 2);
    return right;
}

int main() {
    bool ints = prefix_is_right<int, 64>();
    bool doubles = prefix_is_right<double, 32>();
    bool chars = prefix_is_right<unsigned char, 16>();
    return finish(ints && doubles && chars);
}
