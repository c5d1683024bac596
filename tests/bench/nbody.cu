__global__ void nbody(int n, const float4* bodies, float4* forces) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = bodies[i];
    float fx = 0, fy = 0, fz = 0;
    for (int first = 0; first < n; first += 128) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float d = 1.0f / sqrtf(d2);
            float f = other.w * d * d * d;
            fx += dx * f, fy += dy * f, fz += dz * f;
        }
        __syncthreads();
    }
    forces[i] = make_float4(fx, fy, fz, 0);
}
#include "nbody.h"
