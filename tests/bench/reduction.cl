__kernel void reduction(int n, __global const int* in, __global int* out) {
    __local int tile[256];
    int t = get_local_id(0), i = get_group_id(0) * 512 + t;
    int sum = i < n ? in[i] : 0;
    if (i + 256 < n) sum += in[i + 256];
    tile[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) out[get_group_id(0)] = tile[0];
}
