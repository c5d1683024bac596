//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@[racy] fixes: 1
// A transform scatters its input and then changes the elements in steps. Each step needs a barrier before it: no value of
// the scatter may replace a step's.
#include "check.h"

const int N = 256;

__global__ void steps(const int* in, int* out) {
    __shared__ int s[N];
    int t = threadIdx.x;
    s[__brev(t) >> 24] = in[t]; //~ P
    s[__brev(t + N / 2) >> 24] = in[t + N / 2]; //~ Q
    for (int m = 1; m < N; m *= 2) {
#ifdef FIXED
        __syncthreads();
#endif
        int j = t / m * 2 * m + t % m;
        int a = s[j], b = s[j + m]; //~ D
        s[j] = a + b; //~ F
        s[j + m] = a - b; //~ S
    }
    __syncthreads();
    out[t] = s[t];
    out[t + N / 2] = s[t + N / 2];
}
// Which pairs meet rests on the schedule. All of them lack the same barrier.
//~ RACE?[racy] read-write|write-read shared: P D
//~ RACE?[racy] read-write|write-read shared: Q D
//~ RACE?[racy] read-write|write-read shared: F D
//~ RACE?[racy] read-write|write-read shared: S D
//~ RACE?[racy] write-write shared: P F
//~ RACE?[racy] write-write shared: P S
//~ RACE?[racy] write-write shared: Q F
//~ RACE?[racy] write-write shared: Q S
//~ RACE?[racy] write-write shared: F F
//~ RACE?[racy] write-write shared: F S
//~ RACE?[racy] write-write shared: S S

int main() {
    Buffer<int> in(N), out(N);
    iota(in);
    steps<<<1, N / 2>>>(in.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == N * (N - 1) / 2);
}
