//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Red-black Gauss-Seidel updates in place, one colour per launch: neighbours have the
// other colour. With the colour taken from the column alone, those above have the same.
#include "check.h"

__global__ void relax(float* grid, int width, int height, int colour) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
#ifdef FIXED
    bool mine = (x + y) % 2 == colour;
#else
    bool mine = x % 2 == colour;
#endif
    if (!mine || x == 0 || y == 0 || x == width - 1 || y == height - 1) return;
    float* at = &grid[y * width + x];
    float sum = at[-1] + at[1];
    sum += at[-width]; //~ A
    sum += at[width]; //~ B
    *at = sum / 4; //~ W
}
//~ RACE[racy] write-read global grid: W A
//~ RACE[racy] write-read global grid: W B

int main() {
    const int width = 32, height = 8;
    Buffer<float> grid(width * height);
    for (int i = 0; i < width * height; i++) grid[i] = 4;
    grid.upload();
    for (int k = 0; k < 2; k++)
        for (int colour = 0; colour < 2; colour++)
            relax<<<dim3(1, height), width>>>(grid.device, width, height, colour);
    SYNC();
    grid.download();
    bool right = true;
    for (int i = 0; i < width * height; i++) right &= grid[i] == 4;
    return finish(right);
}
