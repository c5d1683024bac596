// Votes over full and partial masks, in a warp that is not full.
#include "check.h"

__global__ void votes(unsigned* out) {
    int t = threadIdx.x;
    unsigned full = t < 32 ? ~0u : 0xffu;
    unsigned* row = out + t * 6;
    row[0] = __ballot_sync(full, t % 3 == 0);
    row[1] = __all_sync(full, t < 32);
    row[2] = __any_sync(full, t == 33);
    row[3] = __uni_sync(full, t % 32 < 40);
    if (t % 2) row[4] = __ballot_sync(full & 0xaaaaaaaau, t > 4);
    __syncwarp(full);
    row[5] = __activemask() & (1u << (t % 32)) ? 1 : 0;
}

int main() {
    Buffer<unsigned> out(40 * 6);
    votes<<<1, 40>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 40; t++) {
        unsigned ballot = 0, odd = 0;
        for (int l = t / 32 * 32; l < 40 && l < t / 32 * 32 + 32; l++) {
            if (l % 3 == 0) ballot |= 1u << l % 32;
            if (l % 2 && l > 4) odd |= 1u << l % 32;
        }
        unsigned* row = &out[t * 6];
        right &= row[0] == ballot && row[1] == (t < 32) && row[2] == (t >= 32) && row[3] == 1;
        right &= row[4] == (t % 2 ? odd : 0) && row[5] == 1;
    }
    return finish(right);
}
