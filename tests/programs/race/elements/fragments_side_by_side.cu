//@ revisions: near narrow fixed
//@[narrow] findings: several-writers several-writers
//@[near] findings: several-writers several-writers
// Two warps store fragments side by side, two more the same by columns: exactly apart; the second begins within the
// first; rows lie closer to each other than two fragments are wide, so that one's row reaches into the other's next.
#include <mma.h>
#include "check.h"
using namespace nvcuda;

#ifdef NEAR
constexpr int second = 8, stride = 32;
#elif defined NARROW
constexpr int second = 16, stride = 24;
#else
constexpr int second = 16, stride = 32;
#endif

__global__ void store(float* rows, float* columns) {
    int warp = threadIdx.x / 32, place = warp % 2 * second;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fragment;
    wmma::fill_fragment(fragment, float(warp + 1));
    if (warp < 2)
        wmma::store_matrix_sync(rows + place, fragment, stride, wmma::mem_row_major); //~ A
    else
        wmma::store_matrix_sync(columns + place, fragment, stride, wmma::mem_col_major); //~ B
}
//~ RACE[near] write-write global: A A
//~ RACE[near] write-write global: B B
//~ RACE[narrow] write-write global: A A
//~ RACE[narrow] write-write global: B B

int main() {
    Buffer<float> rows(16 * 32), columns(16 * 32);
    store<<<1, 128>>>(rows.device, columns.device);
    SYNC();
    rows.download();
    columns.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < 16 * 32; i++) {
        int warp = i % 32 / 16;
        right &= rows[i] == float(warp + 1) && columns[i] == float(warp + 3);
    }
#endif
    return finish(right);
}
