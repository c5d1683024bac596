//@ revisions: read_new stored_over toggled one_buffer not_ahead fixed
//@[read_new] findings: wrong-stage
//@[stored_over] findings: wrong-stage
//@[toggled] findings: wrong-stage
//@[one_buffer] findings: missing-barrier
//@[not_ahead] findings: missing-barrier
// Each round loads one half of a double buffer and uses the other half, so one barrier in each round is enough. A wrong
// index takes the same half for both. With one buffer, or without a half that is filled before, it is a barrier that
// lacks.
#include "check.h"

const int N = 64;

__global__ void sums(const int* in, int* out, int rounds) {
    __shared__ int tile[2][N];
    int t = threadIdx.x, sum = 0, half = 0;
#ifndef NOT_AHEAD
    tile[0][t] = in[t];
    __syncthreads();
#endif
    for (int k = 0; k < rounds; k++) {
#if defined(READ_NEW)
        tile[(k + 1) % 2][t] = in[(k + 1) * N + t]; //~ N1
        sum += tile[(k + 1) % 2][N - 1 - t];        //~ N2
#elif defined(STORED_OVER)
        sum += tile[k % 2][N - 1 - t];        //~ O1
        tile[k % 2][t] = in[(k + 1) * N + t]; //~ O2
#elif defined(TOGGLED)
        sum += tile[half][N - 1 - t];        //~ T1
        tile[half][t] = in[(k + 1) * N + t]; //~ T2
        half ^= 1;
#elif defined(ONE_BUFFER)
        sum += tile[0][N - 1 - t];        //~ B1
        tile[0][t] = in[(k + 1) * N + t]; //~ B2
#elif defined(NOT_AHEAD)
        tile[k % 2][t] = in[k * N + t]; //~ A1
        sum += tile[k % 2][N - 1 - t];  //~ A2
#else
        tile[(k + 1) % 2][t] = in[(k + 1) * N + t];
        sum += tile[half][N - 1 - t];
        half ^= 1;
#endif
        __syncthreads();
    }
    out[t] = sum + half;
}
//~ RACE[read_new] write-read|read-write shared: N1 N2
//~ RACE[stored_over] read-write|write-read shared: O1 O2
//~ RACE[toggled] read-write|write-read shared: T1 T2
//~ RACE[not_ahead] write-read|read-write shared: A1 A2
//~ RACE[one_buffer] read-write|write-read shared: B1 B2

int main() {
    const int rounds = 4;
    Buffer<int> in(N * (rounds + 1)), out(N);
    iota(in);
    sums<<<1, N>>>(in.device, out.device, rounds);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < N; t++) {
        int sum = 0;
        for (int k = 0; k < rounds; k++) sum += k * N + N - 1 - t;
        right &= out[t] == sum;
    }
#ifdef FIXED
    return finish(right);
#else
    (void)right;
    return 0;
#endif
}
