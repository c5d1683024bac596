__kernel void updates(int each, unsigned mask, __global unsigned* table) {
    unsigned x = 2654435761u * (unsigned)(get_global_id(0) + 1);
    for (int i = 0; i < each; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        atomic_xor(&table[x & mask], x);
    }
}
