//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Co-clustering of a matrix: every block sums up its rows into row and column clusters, held in
// shared memory. The racy form adds to the clusters' sums without atomics, and so do several threads.
#include "check.h"

const int ROWS = 64, COLUMNS = 64, CLUSTERS = 4;

__global__ void sum_of_clusters(const int* matrix, const int* row_cluster, const int* column_cluster, int* sums) {
    __shared__ int own[CLUSTERS * CLUSTERS];
    int t = threadIdx.x;
    if (t < CLUSTERS * CLUSTERS) own[t] = 0;
    __syncthreads();
    int row = blockIdx.x * blockDim.x + t;
    for (int column = 0; column < COLUMNS; column++) {
        int at = row_cluster[row] * CLUSTERS + column_cluster[column];
#ifdef RACY
        own[at] += matrix[row * COLUMNS + column]; //~ A
#else
        atomicAdd(&own[at], matrix[row * COLUMNS + column]);
#endif
    }
    __syncthreads();
    if (t < CLUSTERS * CLUSTERS) atomicAdd(&sums[t], own[t]);
}
//~ RACE[racy] write-read|write-write shared: A A

int main() {
    Buffer<int> matrix(ROWS * COLUMNS), rows(ROWS), columns(COLUMNS), sums(CLUSTERS * CLUSTERS);
    int want[CLUSTERS * CLUSTERS] = {};
    for (int r = 0; r < ROWS; r++) rows[r] = r * r % CLUSTERS;
    for (int c = 0; c < COLUMNS; c++) columns[c] = c / 3 % CLUSTERS;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            matrix[r * COLUMNS + c] = (r + 3 * c) % 10;
            want[rows[r] * CLUSTERS + columns[c]] += (r + 3 * c) % 10;
        }
    matrix.upload(), rows.upload(), columns.upload();
    sum_of_clusters<<<2, ROWS / 2>>>(matrix.device, rows.device, columns.device, sums.device);
    SYNC();
    sums.download();
    return finish(memcmp(sums.host, want, sizeof want) == 0);
}
