// `__match_any_sync` and `__match_all_sync` on 32 and 64 bits.
#include "check.h"

__global__ void matches(unsigned* any, unsigned* all, int* equal) {
    int t = threadIdx.x;
    any[t] = __match_any_sync(~0u, t % 5);
    any[32 + t] = __match_any_sync(~0u, (unsigned long long)(t / 7) << 40);
    all[t] = __match_all_sync(~0u, 17, &equal[t]);
    all[32 + t] = __match_all_sync(~0u, t == 9, &equal[32 + t]);
}

int main() {
    Buffer<unsigned> any(64), all(64);
    Buffer<int> equal(64);
    matches<<<1, 32>>>(any.device, all.device, equal.device);
    SYNC();
    any.download(), all.download(), equal.download();
    bool right = true;
    for (int t = 0; t < 32; t++) {
        unsigned five = 0, seven = 0;
        for (int l = 0; l < 32; l++) five |= (l % 5 == t % 5) << l, seven |= (l / 7 == t / 7) << l;
        right &= any[t] == five && any[32 + t] == seven;
        right &= all[t] == ~0u && equal[t] == 1 && all[32 + t] == 0 && equal[32 + t] == 0;
    }
    return finish(right);
}
