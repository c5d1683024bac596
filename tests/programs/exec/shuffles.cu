// Every shuffle, with widths, out-of-range sources and 64-bit values, against PTX's rules.
#include "check.h"

__global__ void shuffles(int* out, double* wide, int width) {
    int t = threadIdx.x, v = 100 + t;
    out[0 * 32 + t] = __shfl_sync(~0u, v, t * 3 + 1, width);
    out[1 * 32 + t] = __shfl_up_sync(~0u, v, 3, width);
    out[2 * 32 + t] = __shfl_down_sync(~0u, v, 5, width);
    out[3 * 32 + t] = __shfl_xor_sync(~0u, v, 6, width);
    wide[t] = __shfl_xor_sync(~0u, 0.5 + t, 9, width);
    long long big = (long long)t << 40 | t;
    wide[32 + t] = (double)__shfl_down_sync(~0u, big, 1, width);
}

int main() {
    bool right = true;
    for (int width = 2; width <= 32; width *= 2) {
        Buffer<int> out(128);
        Buffer<double> wide(64);
        shuffles<<<1, 32>>>(out.device, wide.device, width);
        SYNC();
        out.download(), wide.download();
        for (int t = 0; t < 32; t++) {
            int base = t / width * width, top = base + width;
            int up = t - 3 >= base ? t - 3 : t;
            int down = t + 5 < top ? t + 5 : t;
            // The butterfly only refuses sources past the end of the segment.
            int across = (t ^ 6) < top ? t ^ 6 : t;
            int far = (t ^ 9) < top ? t ^ 9 : t;
            int next = t + 1 < top ? t + 1 : t;
            right &= out[t] == 100 + base + (t * 3 + 1) % width;
            right &= out[32 + t] == 100 + up;
            right &= out[64 + t] == 100 + down;
            right &= out[96 + t] == 100 + across;
            right &= wide[t] == 0.5 + far;
            right &= wide[32 + t] == (double)((long long)next << 40 | next);
        }
    }
    return finish(right);
}
