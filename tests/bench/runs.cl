__kernel void runs(int n, __global const uchar* in, __global uchar* lengths) {
    int i = get_global_id(0);
    if (i >= n) return;
    int length = 0;
    if (i == 0 || in[i] != in[i - 1])
        while (length < 255 && i + length < n && in[i + length] == in[i]) length++;
    lengths[i] = length;
}
