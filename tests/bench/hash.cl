__kernel void hash(int n, unsigned mask, __global const unsigned* keys, __global unsigned* table,
                   __global unsigned* values) {
    int i = get_global_id(0);
    if (i >= n) return;
    unsigned key = keys[i], slot = (key >> 7) & mask;
    while (atomic_cmpxchg(&table[slot], 0u, key) != 0u) slot = (slot + 1) & mask;
    values[slot] = i;
}
