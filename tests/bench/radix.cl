#define THREADS 256
#define EACH 4
#define DIGITS 16

__kernel void radix(__global const uint* keys, __global uint* sorted, int shift) {
    __local int counts[DIGITS][THREADS];
    __local int sums[THREADS];
    int t = get_local_id(0), first = get_group_id(0) * THREADS * EACH;
    uint own[EACH];
    for (int d = 0; d < DIGITS; d++) counts[d][t] = 0;
    for (int i = 0; i < EACH; i++) {
        own[i] = keys[first + t * EACH + i];
        counts[own[i] >> shift & 15][t]++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    __local int* flat = &counts[0][0];
    int sum = 0;
    for (int i = 0; i < DIGITS; i++) sum += flat[t * DIGITS + i];
    sums[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < THREADS; step <<= 1) {
        int before = t >= step ? sums[t - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[t] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int at = sums[t] - sum;
    for (int i = 0; i < DIGITS; i++) {
        int count = flat[t * DIGITS + i];
        flat[t * DIGITS + i] = at;
        at += count;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < EACH; i++) sorted[first + counts[own[i] >> shift & 15][t]++] = own[i];
}
