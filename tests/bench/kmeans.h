#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int clusters = 8, features = 16;
    int n = bench.size(1 << 17, 500);
    Random random;
    std::vector<float> points(features * n), centres(clusters * features);
    for (float& x : points) x = random.next() % 64;
    for (float& x : centres) x = random.next() % 64;
    Buffer<float> dpoints(points), dcentres(centres);
    Buffer<int> dmember(n);
    bench.time(
        "kmeans", [] {},
        [&] { LAUNCH(kmeans, ((n + 255) / 256), (256), n, clusters, features, dpoints, dcentres, dmember); });
    std::vector<int> got = dmember.read();
    for (int i = 0; i < n; i++) {
        int best = 0;
        float least = 1e30f;
        for (int c = 0; c < clusters; c++) {
            float sum = 0;
            for (int f = 0; f < features; f++) {
                float d = points[f * n + i] - centres[c * features + f];
                sum += d * d;
            }
            if (sum < least) least = sum, best = c;
        }
        expect(got[i] == best, "member", i);
    }
}
