__kernel void paths(int n, int k, __global int* lengths) {
    int x = get_global_id(0), y = get_global_id(1);
    int through = lengths[y * n + k] + lengths[k * n + x];
    if (through < lengths[y * n + x]) lengths[y * n + x] = through;
}
