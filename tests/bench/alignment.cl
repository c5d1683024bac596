__kernel void alignment(int width, int diagonal, int top, __global const int* a, __global const int* b,
                        __global int* scores) {
    __local int tile[17][17];
    int t = get_local_id(0), row = top + get_group_id(0), column = diagonal - row;
    __global int* corner = scores + row * 16 * width + column * 16;
    int other = b[column * 16 + t];
    if (t == 0) tile[0][0] = corner[0];
    tile[0][t + 1] = corner[t + 1];
    tile[t + 1][0] = corner[(t + 1) * width];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < 31; step++) {
        int y = step - t;
        if (y >= 0 && y < 16) {
            int met = tile[y][t] + (a[row * 16 + y] == other ? 2 : -1);
            tile[y + 1][t + 1] = max(met, max(tile[y + 1][t], tile[y][t + 1]) - 1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int y = 1; y <= 16; y++) corner[y * width + t + 1] = tile[y][t + 1];
}
