__kernel void march(__global const float* in, __global float* out, int nx, int ny, int nz) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int layer = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + layer];
    for (int z = 1; z < nz - 1; z++) {
        at += layer;
        float above = in[at + layer];
        out[at] = here * 2 + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
        below = here;
        here = above;
    }
}
