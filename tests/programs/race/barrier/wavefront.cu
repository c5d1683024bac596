//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Edit distance by anti-diagonals in one block: a diagonal needs the two before it, and
// so a barrier after each.
#include "check.h"

__global__ void distance(const char* a, const char* b, int n, int* table) {
    int w = n + 1, t = threadIdx.x;
    for (int d = 0; d <= 2 * n; d++) {
        int y = t, x = d - y;
        if (y <= n && x >= 0 && x <= n) {
            int best = x + y;
            if (x > 0 && y > 0) {
                int change = table[(y - 1) * w + x - 1] + (a[x - 1] != b[y - 1]); //~ A
                int grow = table[(y - 1) * w + x] + 1; //~ B
                best = min(min(change, grow), table[y * w + x - 1] + 1);
            }
            table[y * w + x] = best; //~ W
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
}
//~ RACE[racy] write-read global: W A
//~ RACE[racy] write-read global: W B

int main() {
    const int n = 15;
    const char *one = "gatherthewoolly", *two = "lathertheworldy";
    Buffer<char> a(n), b(n);
    Buffer<int> table((n + 1) * (n + 1));
    memcpy(a.host, one, n);
    memcpy(b.host, two, n);
    a.upload();
    b.upload();
    distance<<<1, 32>>>(a.device, b.device, n, table.device);
    SYNC();
    table.download();
    int host[n + 1][n + 1];
    for (int y = 0; y <= n; y++)
        for (int x = 0; x <= n; x++) {
            host[y][x] = x + y;
            if (x && y) {
                int change = host[y - 1][x - 1] + (one[x - 1] != two[y - 1]);
                host[y][x] = min(change, min(host[y - 1][x], host[y][x - 1]) + 1);
            }
        }
    return finish(table[(n + 1) * (n + 1) - 1] == host[n][n]);
}
