__kernel void bitonic_block(__global unsigned* data, int from, int to) {
    __local unsigned tile[512];
    int t = get_local_id(0), base = get_group_id(0) * 512;
    tile[t] = data[base + t];
    tile[t + 256] = data[base + t + 256];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = from; k <= to; k *= 2)
        for (int j = k / 2 < 256 ? k / 2 : 256; j > 0; j /= 2) {
            int i = 2 * t - (t & (j - 1));
            unsigned x = tile[i], y = tile[i + j];
            if ((x > y) == (((base + i) & k) == 0)) tile[i] = y, tile[i + j] = x;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    data[base + t] = tile[t];
    data[base + t + 256] = tile[t + 256];
}
__kernel void bitonic_step(__global unsigned* data, int j, int k) {
    int t = get_global_id(0);
    int i = 2 * t - (t & (j - 1));
    unsigned x = data[i], y = data[i + j];
    if ((x > y) == ((i & k) == 0)) data[i] = y, data[i + j] = x;
}
