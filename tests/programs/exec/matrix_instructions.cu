// `mma`, `ldmatrix`, `stmatrix` and `movmatrix` of inline PTX against plain loops: fragments are filled as PTX's figures say
// which lane has which element, each type and shape.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include "check.h"

static bool all_right = true;

// Where the elements of a register are, by its number and the lane: rows of A and columns of B are `across`.
struct Place {
    int across, along;
};

// PTX ISA, "Matrix Fragments for mma", said once for all types: `held` elements to a register.
__host__ __device__ Place place(int lane, int reg, int in_reg, int held, bool two_rows) {
    int block = two_rows ? reg / 2 : reg;
    return {lane / 4 + (two_rows ? reg % 2 * 8 : 0), lane % 4 * held + in_reg + block * 4 * held};
}

template <class Reg, int A, int B, int C, int D>
struct Registers {
    Reg a[A], b[B];
    uint32_t c[C], d[D];
};

#define MMA_4_2_4(NAME, TYPES)                                                                               \
    struct NAME {                                                                                            \
        template <class R>                                                                                   \
        static __device__ void run(R& r) {                                                                   \
            asm volatile("mma.sync.aligned." TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
                         : "=r"(r.d[0]), "=r"(r.d[1]), "=r"(r.d[2]), "=r"(r.d[3])                            \
                         : "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "r"(r.b[0]), "r"(r.b[1]),     \
                           "r"(r.c[0]), "r"(r.c[1]), "r"(r.c[2]), "r"(r.c[3]));                              \
        }                                                                                                    \
    };
#define MMA_2_1_4(NAME, TYPES)                                                                      \
    struct NAME {                                                                                   \
        template <class R>                                                                          \
        static __device__ void run(R& r) {                                                          \
            asm volatile("mma.sync.aligned." TYPES " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" \
                         : "=r"(r.d[0]), "=r"(r.d[1]), "=r"(r.d[2]), "=r"(r.d[3])                   \
                         : "r"(r.a[0]), "r"(r.a[1]), "r"(r.b[0]),                                   \
                           "r"(r.c[0]), "r"(r.c[1]), "r"(r.c[2]), "r"(r.c[3]));                     \
        }                                                                                           \
    };
MMA_4_2_4(HalfK16, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_2_1_4(HalfK8, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_4_2_4(BfloatK16, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_4_2_4(Tf32K8, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_2_1_4(Tf32K4, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_4_2_4(SignedK32, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_4_2_4(MixedK32, "m16n8k32.row.col.satfinite.s32.u8.s8.s32")
MMA_4_2_4(E4m3K32, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
MMA_2_1_4(SignedK16, "m16n8k16.row.col.s32.s8.s8.s32")

template <class Instruction, class T, class U, class Acc, int K>
__global__ void multiply(const T* a, const U* b, const Acc* c, Acc* d) {
    constexpr int held = 4 / sizeof(T), regs_a = 16 * K / 32 / held, regs_b = 8 * K / 32 / held;
    Registers<uint32_t, regs_a, regs_b, 4, 4> r;
    int lane = threadIdx.x;
    for (int i = 0; i < regs_a; i++) {
        T elements[held];
        for (int e = 0; e < held; e++) {
            Place at = place(lane, i, e, held, true);
            elements[e] = a[at.across * K + at.along];
        }
        memcpy(&r.a[i], elements, 4);
    }
    for (int i = 0; i < regs_b; i++) {
        U elements[held];
        for (int e = 0; e < held; e++) {
            Place at = place(lane, i, e, held, false);
            elements[e] = b[at.along * 8 + at.across];
        }
        memcpy(&r.b[i], elements, 4);
    }
    for (int i = 0; i < 4; i++) memcpy(&r.c[i], &c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2], 4);
    Instruction::run(r);
    for (int i = 0; i < 4; i++) memcpy(&d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2], &r.d[i], 4);
}

template <class Instruction, class T, class U, class Acc, int K>
static void check(const char* what, bool is_signed) {
    Buffer<T> a(16 * K);
    Buffer<U> b(K * 8);
    Buffer<Acc> c(128), d(128);
    auto value = [&](int i) { return is_signed ? i * 7 % 11 - 5 : i * 7 % 11; };
    for (int i = 0; i < 16 * K; i++) a[i] = T(float(value(i)));
    for (int i = 0; i < K * 8; i++) b[i] = U(float(i * 5 % 7 - 3));
    for (int i = 0; i < 128; i++) c[i] = Acc(value(i + 9));
    a.upload();
    b.upload();
    c.upload();
    multiply<Instruction, T, U, Acc, K><<<1, 32>>>(a.device, b.device, c.device, d.device);
    SYNC();
    d.download();
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
            double sum = double(c[i * 8 + j]);
            for (int k = 0; k < K; k++) sum += double(float(a[i * K + k])) * double(float(b[k * 8 + j]));
            if (double(d[i * 8 + j]) != sum && all_right) {
                printf("%s, row %d, column %d: found %g, wanted %g\n", what, i, j, double(d[i * 8 + j]), sum);
                all_right = false;
            }
        }
    }
}

// Sums of halves lie two to a register; the limits of whole numbers; doubles.
__global__ void others(const half* a, const half* b, half* d, int* limits, const double* x, const double* y, double* z) {
    int lane = threadIdx.x;
    if (lane >= 32) return;
    uint32_t ra[2], rb, rd[2], zero = 0;
    for (int i = 0; i < 2; i++) memcpy(&ra[i], &a[(lane / 4 + 8 * i) * 8 + lane % 4 * 2], 4);
    half column[2] = {b[lane % 4 * 2 * 8 + lane / 4], b[(lane % 4 * 2 + 1) * 8 + lane / 4]};
    memcpy(&rb, column, 4);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
                 : "=r"(rd[0]), "=r"(rd[1]) : "r"(ra[0]), "r"(ra[1]), "r"(rb), "r"(zero), "r"(zero));
    for (int i = 0; i < 2; i++) memcpy(&d[(lane / 4 + 8 * i) * 8 + lane % 4 * 2], &rd[i], 4);

    int wrapped[2], stopped[2], ones = 0x01010101, largest = 0x7fffffff;
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%4,%4};"
                 : "=r"(wrapped[0]), "=r"(wrapped[1]) : "r"(ones), "r"(ones), "r"(largest));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%4,%4};"
                 : "=r"(stopped[0]), "=r"(stopped[1]) : "r"(ones), "r"(ones), "r"(largest));
    limits[2 * lane] = wrapped[1];
    limits[2 * lane + 1] = stopped[1];

    double rx = x[lane / 4 * 4 + lane % 4], ry = y[lane % 4 * 8 + lane / 4], rz[2], none = 0;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%4};"
                 : "=d"(rz[0]), "=d"(rz[1]) : "d"(rx), "d"(ry), "d"(none));
    for (int i = 0; i < 2; i++) z[lane / 4 * 8 + lane % 4 * 2 + i] = rz[i];
}

static void check_others() {
    Buffer<half> a(128), b(64), d(128);
    Buffer<int> limits(64);
    Buffer<double> x(32), y(32), z(64);
    for (int i = 0; i < 128; i++) a[i] = half(float(i * 3 % 7 - 3));
    for (int i = 0; i < 64; i++) b[i] = half(float(i * 5 % 9 - 4));
    for (int i = 0; i < 32; i++) x[i] = i * 0.25 - 3, y[i] = 7 - i * 0.5;
    a.upload();
    b.upload();
    x.upload();
    y.upload();
    others<<<1, 32>>>(a.device, b.device, d.device, limits.device, x.device, y.device, z.device);
    SYNC();
    d.download();
    limits.download();
    z.download();
    for (int i = 0; i < 128; i++) {
        float sum = 0;
        for (int k = 0; k < 8; k++) sum += float(a[i / 8 * 8 + k]) * float(b[k * 8 + i % 8]);
        all_right &= float(d[i]) == sum;
    }
    for (int i = 0; i < 32; i++) all_right &= limits[2 * i] == int(0x7fffffffu + 16) && limits[2 * i + 1] == 0x7fffffff;
    for (int i = 0; i < 64; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) sum += x[i / 8 * 4 + k] * y[k * 8 + i % 8];
        all_right &= z[i] == sum;
    }
}

// Matrices as they go from and to shared memory: rows lie 24 elements apart, and lanes of a group of 8 say where.
__global__ void moves(uint32_t* plain, uint32_t* transposed, uint32_t* turned, uint16_t* stored) {
    __shared__ __align__(16) uint16_t tile[32 * 24], back[32 * 24];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * 24; i += 32) tile[i] = i, back[i] = 0;
    __syncwarp();
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[lane * 24])), r[4], t[2], m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0,%1}, [%2+16];"
                 : "=r"(t[0]), "=r"(t[1]) : "r"(at) : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(r[1]));
    for (int i = 0; i < 4; i++) plain[4 * lane + i] = r[i];
    for (int i = 0; i < 2; i++) transposed[2 * lane + i] = t[i];
    turned[lane] = m;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&back[lane * 24]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 :: "r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0+16], {%1};" :: "r"(to), "r"(t[0]) : "memory");
    __syncwarp();
    for (int i = lane; i < 32 * 24; i += 32) stored[i] = back[i];
}

static void check_moves() {
    Buffer<uint32_t> plain(128), transposed(64), turned(32);
    Buffer<uint16_t> stored(32 * 24);
    moves<<<1, 32>>>(plain.device, transposed.device, turned.device, stored.device);
    SYNC();
    plain.download();
    transposed.download();
    turned.download();
    stored.download();
    auto pair = [](int low, int high) { return uint32_t(low) | uint32_t(high) << 16; };
    for (int lane = 0; lane < 32; lane++) {
        int row = lane / 4, column = lane % 4 * 2;
        for (int m = 0; m < 4; m++) {
            int first = (8 * m + row) * 24 + column;
            all_right &= plain[4 * lane + m] == pair(first, first + 1);
        }
        for (int m = 0; m < 2; m++) {
            int first = (8 * m + column) * 24 + 8 + row;
            all_right &= transposed[2 * lane + m] == pair(first, first + 24);
        }
        int first = (8 + column) * 24 + row;
        all_right &= turned[lane] == pair(first, first + 24);
    }
    for (int row = 0; row < 32; row++) {
        for (int column = 0; column < 24; column++) {
            bool written = column < 8 || (row < 8 && column < 16);
            all_right &= stored[row * 24 + column] == (written ? row * 24 + column : 0);
        }
    }
}

int main() {
    check<HalfK16, half, half, float, 16>("half, k 16", true);
    check<HalfK8, half, half, float, 8>("half, k 8", true);
    check<BfloatK16, __nv_bfloat16, __nv_bfloat16, float, 16>("bfloat16, k 16", true);
    check<Tf32K8, float, float, float, 8>("TF32, k 8", true);
    check<Tf32K4, float, float, float, 4>("TF32, k 4", true);
    check<SignedK32, int8_t, int8_t, int, 32>("signed bytes, k 32", true);
    check<SignedK16, int8_t, int8_t, int, 16>("signed bytes, k 16", true);
    check<MixedK32, uint8_t, int8_t, int, 32>("unsigned and signed bytes, k 32", false);
    check<E4m3K32, __nv_fp8_e4m3, __nv_fp8_e5m2, float, 32>("8-bit floats, k 32", true);
    check_others();
    check_moves();
    return finish(all_right);
}
