uint reverse(uint x) {
    x = (x & 0x55) << 1 | (x & 0xaa) >> 1;
    x = (x & 0x33) << 2 | (x & 0xcc) >> 2;
    return (x & 0x0f) << 4 | (x & 0xf0) >> 4;
}

__kernel void fft(__global float* real, __global float* imaginary, __global const float* cosines,
                  __global const float* sines) {
    __local float re[256], im[256];
    int t = get_local_id(0), first = get_group_id(0) * 256;
    for (int i = t; i < 256; i += 128) {
        int reversed = reverse(i);
        re[reversed] = real[first + i];
        im[reversed] = imaginary[first + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 1; half_size < 256; half_size *= 2) {
        int in = t & (half_size - 1), low = 2 * t - in, high = low + half_size, turn = in * (128 / half_size);
        float c = cosines[turn], s = sines[turn];
        float x = re[high] * c - im[high] * s, y = re[high] * s + im[high] * c;
        re[high] = re[low] - x;
        im[high] = im[low] - y;
        re[low] += x;
        im[low] += y;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = t; i < 256; i += 128) {
        real[first + i] = re[i];
        imaginary[first + i] = im[i];
    }
}
