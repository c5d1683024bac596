// Warps write different fields of the same structs: floats, chars, a pair of halves of a word.
#include "check.h"

struct Cell {
    float mass;
    char kind, state;
    unsigned short charge;
    double energy;
};

__global__ void fill(Cell* cells) {
    int lane = threadIdx.x % 32;
    switch (threadIdx.x / 32) {
    case 0: cells[lane].mass = lane; break;
    case 1: cells[lane].kind = static_cast<char>(lane); break;
    case 2: cells[lane].state = static_cast<char>(-lane); break;
    case 3: cells[lane].charge = static_cast<unsigned short>(3 * lane); break;
    case 4: cells[lane].energy = 0.5 * lane; break;
    }
}

int main() {
    Buffer<Cell> cells(32);
    fill<<<1, 160>>>(cells.device);
    SYNC();
    cells.download();
    bool right = true;
    for (int i = 0; i < 32; i++) {
        const Cell& c = cells[i];
        right &= c.mass == i && c.kind == i && c.state == -i && c.charge == 3 * i && c.energy == 0.5 * i;
    }
    return finish(right);
}
