// 32 work-items for each row, which meet in local memory.
__kernel void softmax(int rows, int columns, __global const float* in, __global float* out) {
    __local float tile[256];
    int t = get_local_id(0), lane = t & 31, warps = get_num_groups(0) * (get_local_size(0) / 32);
    int first = get_group_id(0) * (get_local_size(0) / 32), warp = t / 32;
    for (int base = first; base < rows; base += warps) {
        int row = base + warp;
        bool has = row < rows;
        __global const float* x = in + row * columns;
        float most = -1e30f;
        if (has) for (int i = lane; i < columns; i += 32) most = fmax(most, x[i]);
        tile[t] = most;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 16; s > 0; s >>= 1) {
            if (lane < s) tile[t] = fmax(tile[t], tile[t + s]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        most = tile[t - lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        float sum = 0;
        if (has) for (int i = lane; i < columns; i += 32) sum += exp(x[i] - most);
        tile[t] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 16; s > 0; s >>= 1) {
            if (lane < s) tile[t] += tile[t + s];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        sum = tile[t - lane];
        if (has) for (int i = lane; i < columns; i += 32) out[row * columns + i] = exp(x[i] - most) / sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
