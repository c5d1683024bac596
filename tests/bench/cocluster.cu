// Co-clustering of a matrix: each block adds its rows to row and column clusters in shared memory, with
// atomics.
#include "bench.h"

const int COLUMNS = 256, CLUSTERS = 4, THREADS = 128;

__global__ void cocluster(const int* matrix, const int* row_cluster, const int* column_cluster, int* sums) {
    __shared__ int own[CLUSTERS * CLUSTERS];
    int t = threadIdx.x;
    if (t < CLUSTERS * CLUSTERS) own[t] = 0;
    __syncthreads();
    int row = blockIdx.x * blockDim.x + t;
    for (int column = 0; column < COLUMNS; column++) {
        int at = row_cluster[row] * CLUSTERS + column_cluster[column];
        atomicAdd(&own[at], matrix[row * COLUMNS + column]);
    }
    __syncthreads();
    if (t < CLUSTERS * CLUSTERS) atomicAdd(&sums[t], own[t]);
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int rows = bench.size(4096, 256);
    std::vector<int> matrix(rows * COLUMNS), row_cluster(rows), column_cluster(COLUMNS),
        want(CLUSTERS * CLUSTERS);
    for (int r = 0; r < rows; r++) row_cluster[r] = r * r % CLUSTERS;
    for (int c = 0; c < COLUMNS; c++) column_cluster[c] = c / 3 % CLUSTERS;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++) {
            matrix[r * COLUMNS + c] = (r + 3 * c) % 10;
            want[row_cluster[r] * CLUSTERS + column_cluster[c]] += (r + 3 * c) % 10;
        }
    Buffer<int> dmatrix(matrix), drows(row_cluster), dcolumns(column_cluster), dsums(want.size());
    std::vector<int> zero(want.size());
    bench.time(
        "cocluster", [&] { dsums.write(zero); },
        [&] { LAUNCH(cocluster, (rows / THREADS), (THREADS), dmatrix, drows, dcolumns, dsums); });
    std::vector<int> got = dsums.read();
    for (size_t i = 0; i < want.size(); i++) expect(got[i] == want[i], "sum", i);
}
