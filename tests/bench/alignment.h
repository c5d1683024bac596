#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int tile = 16;
    int tiles = bench.size(32, 3), n = tiles * tile, width = n + 1;
    Random random;
    std::vector<int> a(n), b(n), first(width * width), want;
    for (int& x : a) x = random.next() % 4;
    for (int& x : b) x = random.next() % 4;
    for (int i = 0; i <= n; i++) first[i] = first[i * width] = -i;
    want = first;
    for (int y = 1; y <= n; y++)
        for (int x = 1; x <= n; x++) {
            int* w = &want[y * width + x];
            *w = std::max(w[-width - 1] + (a[y - 1] == b[x - 1] ? 2 : -1), std::max(w[-1], w[-width]) - 1);
        }
    Buffer<int> da(a), db(b), dscores(first);
    auto prepare = [&] { dscores.write(first); };
    bench.time("alignment", prepare, [&] {
        for (int diagonal = 0; diagonal < 2 * tiles - 1; diagonal++) {
            int top = std::max(0, diagonal - tiles + 1), count = std::min(diagonal, tiles - 1) - top + 1;
            LAUNCH(alignment, (count), (tile), width, diagonal, top, da, db, dscores);
        }
    });
    std::vector<int> got = dscores.read();
    for (int i = 0; i < width * width; i++) expect(got[i] == want[i], "score", i);
}
