__kernel void transpose(int n, __global const float* in, __global float* out) {
    __local float tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
    for (int i = 0; i < 32; i += 8) tile[ty + i][tx] = in[(y + i) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[tx][ty + i];
}
