__kernel void blur(int w, int h, __global const uchar* in, __global uchar* out) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += in[(y + dy) * w + x + dx];
    out[y * w + x] = sum / 9;
}
