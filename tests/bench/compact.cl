__kernel void compact(int n, __global const int* in, __global int* out, __global int* counts) {
    __local int tile[256];
    int t = get_local_id(0), i = get_global_id(0), size = get_local_size(0);
    int value = i < n ? in[i] : 0;
    int keep = value & 1, sum = keep;
    tile[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < size; d *= 2) {
        int below = t >= d ? tile[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += below;
        tile[t] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) counts[get_group_id(0)] = tile[size - 1];
    if (keep) out[get_group_id(0) * size + sum - 1] = value;
}
