__kernel void scatter(int n, __global const int* places, __global const int* in, __global int* out) {
    int i = get_global_id(0);
    if (i < n) out[places[i]] = in[i];
}
