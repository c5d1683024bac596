// OpenCL C without subgroups: a tree in local memory, as the kernels of this kind have there.
__kernel void warpsums(int n, __global const float* in, __global float* out) {
    __local float tile[256];
    int t = get_local_id(0), b = get_group_id(0);
    float sum = 0;
    for (int i = b * 1024 + t; i < n && i < (b + 1) * 1024; i += get_local_size(0)) sum += in[i];
    tile[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) out[b] = tile[0];
}
