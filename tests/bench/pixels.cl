__kernel void pixels(int n, __global uchar* image) {
    int i = get_global_id(0);
    if (i >= n) return;
    int r = image[3 * i], g = image[3 * i + 1], b = image[3 * i + 2], grey = (r + 2 * g + b) / 4;
    image[3 * i] = (r + grey) / 2;
    image[3 * i + 1] = (g + grey) / 2;
    image[3 * i + 2] = (b + grey) / 2;
}
