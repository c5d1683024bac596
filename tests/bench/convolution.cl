__kernel void convolution(int w, __global const float* in, __global const float* taps, __global float* out) {
    __local float part[128 + 16];
    __global const float* row = in + get_group_id(1) * w;
    int first = get_group_id(0) * 128 - 8;
    for (int i = get_local_id(0); i < 128 + 16; i += get_local_size(0)) {
        int x = first + i;
        part[i] = x >= 0 && x < w ? row[x] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int k = 0; k <= 16; k++) sum += taps[k] * part[get_local_id(0) + k];
    out[get_group_id(1) * w + get_group_id(0) * 128 + get_local_id(0)] = sum;
}
