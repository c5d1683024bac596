__kernel void warpscan(int n, __global const int* in, __global int* out) {
    __local int tile[256];
    int t = get_local_id(0), i = get_global_id(0);
    int sum = i < n ? in[i] : 0;
    tile[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < get_local_size(0); d *= 2) {
        int below = t >= d ? tile[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += below;
        tile[t] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) out[i] = sum;
}
