//! Mbarriers beside tiles: members of a struct in static or dynamic shared memory.

use super::compare;
use super::phases::{OPERATIONS, proved};

const KERNELS: &str = r#"
enum How {
    RIGHT, NO_WAIT, UNREAD, EARLY, BEHIND, COUNTS, BEYOND, AGAIN, LATE_START, POINTER, PLAIN, SHIFTED, NEXT_ARRAY
};
constexpr int S = 4, T = 64;
template <int s> struct State {
    int index = 0;
    unsigned phase = 0;
    __device__ void operator++() {
        if (++index == s) {
            index = 0;
            phase ^= 1;
        }
    }
};
struct Storage {
    struct Tensors {
        alignas(128) int a[S][T];
        alignas(128) int b[S * T];
    } tensors;
    alignas(16) Word full[S], empty[S];
    int last;
};
// A thread copies tiles of two arrays, and the first lanes of two warps say that these have read them.
template <How how> __device__ __forceinline__ void work(Storage& st, const int* in, int* out, int tiles, int n) {
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&st.full[s], 1);
            start(&st.empty[s], 2);
            if (how == COUNTS && n == 7) start(&st.empty[s], 1);
        }
    __syncthreads();
    if (how == LATE_START && t == 0) start(&st.empty[0], 2);
    if (t < 32) {
        State<S> w;
        w.phase = 1;
        if (t == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int i = 0; i < n; i++) {
                    if (how != NO_WAIT) wait(&st.empty[w.index], w.phase);
                    expect(&st.full[w.index], 512);
                    copy(st.tensors.a[w.index], in + i * T, 256, &st.full[w.index]);
                    copy(&st.tensors.b[w.index * T], in + i * T, 256, &st.full[w.index]);
                    ++w;
                }
    } else {
        State<S> r;
        int* pointer = (int*)(long long)in[100];
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                if (how != UNREAD) wait(&st.full[r.index], r.phase);
                if (how == EARLY && t % 32 == 0) arrive(&st.empty[r.index]);
                sum += st.tensors.a[r.index][95 - t] * st.tensors.b[r.index * T + 95 - t];
                if (how == BEHIND && t == 40) st.last = sum;
                if (how == BEYOND && t == 40) st.tensors.b[i * T] = 0;
                if (how == POINTER && t == 40) *pointer = 0;
                if (how == PLAIN && t == 40) st.empty[r.index] = 0;
                __syncwarp();
                if (how != EARLY && t % 32 == 0) arrive(&st.empty[r.index]);
                if (how == AGAIN && t == 40) arrive(&st.empty[r.index]);
                if (how == SHIFTED && t == 40) arrive(&st.full[r.index + 4]);
                if (how == NEXT_ARRAY && t == 40) arrive(&st.full[i]);
                ++r;
            }
            out[tile * 64 + t - 32] = sum;
        }
    }
}
template <How how> __global__ __launch_bounds__(96) void member(const int* in, int* out, int tiles, int n) {
    __shared__ Storage st;
    work<how>(st, in, out, tiles, n);
}
template <How how> __global__ __launch_bounds__(96) void dynamic(const int* in, int* out, int tiles, int n) {
    extern __shared__ __align__(128) unsigned char raw[];
    work<how>(*reinterpret_cast<Storage*>(raw), in, out, tiles, n);
}
"#;
/// Runs one of them. Those that may wait for ever are left out.
const MAIN: &str = r#"
int main(int, char** argv) {
    int *in, *out;
    cudaMalloc(&in, 8192);
    cudaMalloc(&out, 4096);
    cudaMemset(in, 1, 8192);
    #define RUN(kernel, how) kernel<how><<<2, 96, sizeof(Storage)>>>(in, out, 9, 7)
    switch (atoi(argv[1])) {
    case 0: RUN(member, RIGHT); break;
    case 1: RUN(dynamic, RIGHT); break;
    case 2: RUN(member, BEHIND); break;
    case 3: RUN(member, EARLY); break;
    case 4: RUN(dynamic, EARLY); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn mbarriers_beside_their_tiles_are_proved() {
    compare(&[OPERATIONS, KERNELS, MAIN].concat(), "proofs_members", 0..=4, &[0, 1, 2], &[0, 1, 2]);
}

#[test]
fn mbarriers_that_something_else_may_reach_prove_nothing() {
    let source = [OPERATIONS, KERNELS].concat();
    let wrong = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12];
    for kernel in ["member", "dynamic"] {
        assert_eq!(proved(&source, "int, int", kernel, &wrong), [[false; 2]; 11], "{kernel}");
    }
    assert_eq!(proved(&source, "int, int", "member", &[0, 4]), [[true; 2]; 2]);
}
