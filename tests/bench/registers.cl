#define TILE 64
#define DEPTH 16
#define OWN 4

__kernel void registers(__global const float* a, __global const float* b, __global float* c, int n) {
    __local float rows[DEPTH][TILE], columns[DEPTH][TILE];
    int t = get_local_id(0), x = t % 16 * OWN, y = t / 16 * OWN, bx = get_group_id(0), by = get_group_id(1);
    float sums[OWN][OWN] = {{0}};
    for (int k = 0; k < n; k += DEPTH) {
        for (int i = t; i < DEPTH * TILE; i += 256) {
            rows[i % DEPTH][i / DEPTH] = a[(by * TILE + i / DEPTH) * n + k + i % DEPTH];
            columns[i / TILE][i % TILE] = b[(k + i / TILE) * n + bx * TILE + i % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < OWN; i++)
                for (int j = 0; j < OWN; j++) sums[i][j] += rows[d][y + i] * columns[d][x + j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < OWN; i++)
        for (int j = 0; j < OWN; j++) c[(by * TILE + y + i) * n + bx * TILE + x + j] = sums[i][j];
}
