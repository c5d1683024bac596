__kernel void nbody(int n, __global const float4* bodies, __global float4* forces) {
    __local float4 tile[128];
    int t = get_local_id(0), i = get_group_id(0) * 128 + t;
    float4 me = bodies[i];
    float fx = 0, fy = 0, fz = 0;
    for (int first = 0; first < n; first += 128) {
        tile[t] = bodies[first + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 128; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float d = 1.0f / sqrt(d2);
            float f = other.w * d * d * d;
            fx += dx * f, fy += dy * f, fz += dz * f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    forces[i] = (float4)(fx, fy, fz, 0);
}
