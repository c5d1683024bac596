__kernel void wavelet(__global const float* in, __global float* out) {
    __local float part[512];
    int t = get_local_id(0), first = get_group_id(0) * 512;
    part[t] = in[first + t];
    part[t + 256] = in[first + t + 256];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 256; half_size > 0; half_size /= 2) {
        float sum = 0, difference = 0;
        if (t < half_size) {
            sum = (part[2 * t] + part[2 * t + 1]) * 0.5f;
            difference = (part[2 * t] - part[2 * t + 1]) * 0.5f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < half_size) {
            part[t] = sum;
            part[half_size + t] = difference;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[first + t] = part[t];
    out[first + t + 256] = part[t + 256];
}
