__kernel void scale(int n, int k, __global float* a) {
    int y = k + 1 + get_global_id(0);
    if (y < n) a[y * n + k] /= a[k * n + k];
}

__kernel void eliminate(int n, int k, __global float* a) {
    int x = k + 1 + get_global_id(0), y = k + 1 + get_global_id(1);
    if (x < n && y < n) a[y * n + x] -= a[y * n + k] * a[k * n + x];
}
