// nvcc's atomic functions with an order and a scope compute what their names say, for each type.
#include "check.h"

template <class T>
struct Words {
    T added, taken, smallest, greatest, swapped, compared, failed, all[64];
};

template <class T, int Order, int Scope>
__device__ void numbers(Words<T>* w) {
    int t = threadIdx.x;
    T old = __nv_atomic_fetch_add(&w->added, 1, Order, Scope);
    __nv_atomic_store_n(&w->all[int(old)], T(int(old) + 100), __NV_ATOMIC_RELAXED, Scope);
    __nv_atomic_fetch_sub(&w->taken, T(2), Order, Scope);
    __nv_atomic_add(&w->taken, 1, Order, Scope);
    __nv_atomic_sub(&w->taken, 1, Order, Scope);
    __nv_atomic_exchange_n(&w->swapped, T(7), Order, Scope);
    T expected = 0, wanted = T(t + 1);
    bool first = __nv_atomic_compare_exchange(&w->compared, &expected, &wanted, false, Order, __NV_ATOMIC_RELAXED, Scope);
    if (!first) __nv_atomic_fetch_add(&w->failed, T(expected != T(0)), Order, Scope);
}

template <class T>
__global__ void count(Words<T>* w) {
    numbers<T, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK>(w);
}

template <class T>
__global__ void compare(Words<T>* w) {
    int t = threadIdx.x;
    __nv_atomic_fetch_min(&w->smallest, T(50 - t), __NV_ATOMIC_RELAXED);
    __nv_atomic_max(&w->greatest, T(t), __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_or(&w->all[0], T(1) << (t % 16), __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_CLUSTER);
    __nv_atomic_fetch_and(&w->all[1], ~(T(1) << (t % 16)), __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_xor(&w->all[2], T(t), __NV_ATOMIC_CONSUME, __NV_THREAD_SCOPE_THREAD);
}

template <class T>
__global__ void bits(T* words, T* out) {
    T read;
    __nv_atomic_load(words, &read, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    T more = read + 1;
    __nv_atomic_store(out, &more, __NV_ATOMIC_SEQ_CST);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST);
    __nv_atomic_thread_fence(__NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
    out[1] = __nv_atomic_load_n(words + 1, __NV_ATOMIC_ACQUIRE);
    __nv_atomic_store_n(out + 2, 5, __NV_ATOMIC_RELEASE);
}

template <class T>
static bool counts() {
    Buffer<Words<T>> w(1);
    memset(w.host, 0, sizeof(Words<T>));
    w[0].taken = 128;
    w.upload();
    count<T><<<1, 64>>>(w.device);
    SYNC();
    w.download();
    bool right = w[0].added == T(64) && w[0].taken == T(0) && w[0].swapped == T(7);
    right = right && w[0].compared >= T(1) && w[0].compared <= T(64) && w[0].failed == T(63);
    for (int i = 0; i < 64; i++) right = right && w[0].all[i] == T(i + 100);
    return right;
}

template <class T>
static bool compares() {
    Buffer<Words<T>> w(1);
    memset(w.host, 0, sizeof(Words<T>));
    w[0].smallest = w[0].all[1] = T(0x7fffffff);
    w.upload();
    compare<T><<<1, 40>>>(w.device);
    SYNC();
    w.download();
    int parity = 0;
    for (int t = 0; t < 40; t++) parity ^= t;
    return w[0].smallest == T(11) && w[0].greatest == T(39) && w[0].all[0] == T(0xffff) &&
           w[0].all[1] == T(0x7fff0000) && w[0].all[2] == T(parity);
}

template <class T>
static bool moves() {
    Buffer<T> words(3), out(3);
    words[0] = 40;
    words[1] = 90;
    words.upload();
    bits<<<1, 1>>>(words.device, out.device);
    SYNC();
    out.download();
    return out[0] == T(41) && out[1] == T(90) && out[2] == T(5);
}

// The least number is negative where the type has a sign.
__global__ void below(int* a, unsigned* b, long long* c) {
    __nv_atomic_min(a, -3, __NV_ATOMIC_RELAXED);
    __nv_atomic_min(b, -3, __NV_ATOMIC_RELAXED);
    __nv_atomic_min(c, -3, __NV_ATOMIC_RELAXED);
}

int main() {
    bool right = counts<int>() && counts<unsigned>() && counts<long long>() && counts<unsigned long>();
    right = counts<float>() && counts<double>() && right;
    right = compares<int>() && compares<unsigned>() && compares<long>() && compares<unsigned long long>() && right;
    right = moves<unsigned char>() && moves<short>() && moves<int>() && moves<unsigned long long>() && right;
    right = moves<float>() && moves<double>() && right;
    Buffer<int> a(1);
    Buffer<unsigned> b(1);
    Buffer<long long> c(1);
    b[0] = 5;
    b.upload();
    below<<<1, 1>>>(a.device, b.device, c.device);
    SYNC();
    a.download(), b.download(), c.download();
    return finish(right && a[0] == -3 && b[0] == 5u && c[0] == -3);
}
