// A wave step by tiles with a border. Threads outside of the image end before the barriers.
#include "bench.h"

const int TILE = 16;

__global__ void guarded(const float* now, const float* before, float* next, int width, int height) {
    __shared__ float tile[TILE + 2][TILE + 2];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= width || y >= height) return;
    auto at = [=](int x, int y) {
        return x >= 0 && x < width && y >= 0 && y < height ? now[y * width + x] : 0;
    };
    tile[ty][tx] = at(x, y);
    if (tx == 1) tile[ty][0] = at(x - 1, y);
    if (ty == 1) tile[0][tx] = at(x, y - 1);
    if (tx == TILE || x == width - 1) tile[ty][tx + 1] = at(x + 1, y);
    if (ty == TILE || y == height - 1) tile[ty + 1][tx] = at(x, y + 1);
    __syncthreads();
    float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
    next[y * width + x] = 0.5f * around - before[y * width + x];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int width = bench.size(1000, 50), height = bench.size(700, 37);
    Random random;
    std::vector<float> in[2];
    for (auto& image : in)
        for (int i = 0; i < width * height; i++) image.push_back(random.next() % 64);
    Buffer<float> now(in[0]), before(in[1]), next(in[0].size());
    bench.time(
        "guarded", [] {},
        [&] {
            LAUNCH(guarded, ((width + TILE - 1) / TILE, (height + TILE - 1) / TILE), (TILE, TILE), now,
                   before, next, width, height);
        });
    std::vector<float> got = next.read();
    auto at = [&](int x, int y) {
        return x >= 0 && x < width && y >= 0 && y < height ? in[0][y * width + x] : 0;
    };
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float around = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
            expect(got[y * width + x] == 0.5f * around - in[1][y * width + x], "place", y * width + x);
        }
}
