//@ compile-flags: --cuda-gpu-arch=sm_90
// Conversions to and from floats of 8 bits, instructions from compute capability 8.9 on, against what CUDA's header
// computes on the host: every number of 16 bits, every fifth pattern of a float in steps, all 256 patterns of both formats.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include "check.h"

__host__ __device__ float pattern(int i) {
    uint32_t bits = uint32_t(i) * 40503u * 17u;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

__global__ void narrow(uint8_t* e4m3, uint8_t* e5m2, uint8_t* of_half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    e4m3[i] = __nv_cvt_float_to_fp8(pattern(i), __NV_SATFINITE, __NV_E4M3);
    e5m2[i] = __nv_cvt_float_to_fp8(pattern(i), __NV_SATFINITE, __NV_E5M2);
    __half2_raw pair;
    pair.x = i;
    pair.y = i ^ 0x8001;
    unsigned both = __nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
    unsigned wide = __nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, __NV_E5M2);
    of_half[2 * i] = both & 255;
    of_half[2 * i + 1] = wide >> 8;
}

__global__ void widen(float* e4m3, float* e5m2, float* relu) {
    int i = threadIdx.x;
    e4m3[i] = __half2float(__nv_cvt_fp8_to_halfraw(i, __NV_E4M3));
    e5m2[i] = __half2float(__nv_cvt_fp8_to_halfraw(i, __NV_E5M2));
    unsigned short low, in = i | (255 - i) << 8;
    unsigned pair;
    asm("cvt.rn.relu.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(in));
    relu[2 * i] = __half2float(__ushort_as_half(pair & 0xffff));
    asm("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(low) : "f"(1.0f), "f"(i - 128.0f));
    relu[2 * i + 1] = low;
}

static bool same(float a, float b) { return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b); }

static float value(int code, __nv_fp8_interpretation_t as) { return __half2float(__nv_cvt_fp8_to_halfraw(code, as)); }

int main() {
    const int n = 65536;
    Buffer<uint8_t> e4m3(n), e5m2(n), of_half(2 * n);
    Buffer<float> wide4(256), wide5(256), relu(512);
    narrow<<<n / 256, 256>>>(e4m3.device, e5m2.device, of_half.device);
    widen<<<1, 256>>>(wide4.device, wide5.device, relu.device);
    SYNC();
    e4m3.download();
    e5m2.download();
    of_half.download();
    wide4.download();
    wide5.download();
    relu.download();
    bool right = true;
    auto check = [&](const char* what, int i, int found, int wanted, __nv_fp8_interpretation_t as) {
        if (same(value(found, as), value(wanted, as)) || !right) return;
        printf("%s, %d: found %#x, wanted %#x\n", what, i, found, wanted);
        right = false;
    };
    for (int i = 0; i < n; i++) {
        check("float to e4m3", i, e4m3[i], __nv_cvt_float_to_fp8(pattern(i), __NV_SATFINITE, __NV_E4M3), __NV_E4M3);
        check("float to e5m2", i, e5m2[i], __nv_cvt_float_to_fp8(pattern(i), __NV_SATFINITE, __NV_E5M2), __NV_E5M2);
        __half_raw low, high;
        low.x = i;
        high.x = i ^ 0x8001;
        check("half to e4m3", i, of_half[2 * i], __nv_cvt_halfraw_to_fp8(low, __NV_SATFINITE, __NV_E4M3), __NV_E4M3);
        check("half to e5m2", i, of_half[2 * i + 1], __nv_cvt_halfraw_to_fp8(high, __NV_SATFINITE, __NV_E5M2), __NV_E5M2);
    }
    for (int i = 0; i < 256; i++) {
        float four = value(i, __NV_E4M3), low = i < 128 ? 0 : i - 128.0f;
        int code = __nv_cvt_float_to_fp8(low, __NV_SATFINITE, __NV_E5M2) | 0x3c00;
        bool widened = same(wide4[i], four) && same(wide5[i], value(i, __NV_E5M2));
        bool kept = same(relu[2 * i], four < 0 || (i & 127) == 0 ? 0 : four) && relu[2 * i + 1] == code;
        if (!(widened && kept) && right) {
            printf("pattern %#x: %g, %g, %g, %g\n", i, wide4[i], wide5[i], relu[2 * i], relu[2 * i + 1]);
            right = false;
        }
    }
    return finish(right);
}
