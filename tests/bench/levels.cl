__kernel void levels(int n, int level, __global const int* starts, __global const int* neighbours,
                     __global const int* in, __global int* out) {
    int v = get_global_id(0);
    if (v >= n) return;
    int own = in[v];
    for (int i = starts[v]; own < 0 && i < starts[v + 1]; i++)
        if (in[neighbours[i]] == level) own = level + 1;
    out[v] = own;
}
