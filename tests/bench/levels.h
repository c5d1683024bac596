#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int degree = 8;
    int n = bench.size(1 << 15, 300);
    Random random;
    std::vector<int> starts(n + 1), neighbours;
    for (int v = 0; v < n; v++) {
        for (int i = random.next() % (2 * degree); i > 0; i--) neighbours.push_back(random.next() % n);
        starts[v + 1] = neighbours.size();
    }
    std::vector<int> first(n, -1), want(n, -1);
    first[0] = want[0] = 0;
    int last = 0;
    for (bool more = true; more; last++) {
        more = false;
        for (int v = 0; v < n; v++)
            for (int i = starts[v]; want[v] < 0 && i < starts[v + 1]; i++)
                if (want[neighbours[i]] == last) want[v] = last + 1, more = true;
    }
    Buffer<int> dstarts(starts), dneighbours(neighbours), da(n), db(n);
    auto prepare = [&] { da.write(first); };
    bench.time("levels", prepare, [&] {
        for (int level = 0; level < last; level++)
            if (level % 2)
                LAUNCH(levels, ((n + 127) / 128), (128), n, level, dstarts, dneighbours, db, da);
            else
                LAUNCH(levels, ((n + 127) / 128), (128), n, level, dstarts, dneighbours, da, db);
    });
    std::vector<int> got = (last % 2 ? db : da).read();
    for (int v = 0; v < n; v++) expect(got[v] == want[v], "level", v);
}
