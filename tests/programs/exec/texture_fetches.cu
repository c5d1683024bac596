// Texture objects give what the CUDA C++ Programming Guide says ("Texture Fetching"): formats, read modes, address modes,
// filters, and memory of each kind behind them, against the same rules computed on the host.
#include <cmath>
#include <vector>
#include "check.h"

static bool all_right = true;

static void expect(bool right, const char* what, size_t at, double found, double wanted) {
    if (right) return;
    if (all_right) printf("%s, element %zu: found %g, wanted %g\n", what, at, found, wanted);
    all_right = false;
}

struct Made {
    cudaTextureObject_t object = 0;
    cudaArray_t array = nullptr;
    ~Made() {
        if (object) CUDA(cudaDestroyTextureObject(object));
        if (array) CUDA(cudaFreeArray(array));
    }
};

static cudaTextureDesc description(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized,
                                   cudaTextureReadMode read = cudaReadModeElementType) {
    cudaTextureDesc d = {};
    for (auto& m : d.addressMode) m = mode;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    return d;
}

// A texture of an array of `height` rows; 0 for an array of one dimension.
template <class T>
static void make(Made& made, const std::vector<T>& data, size_t width, size_t height, const cudaTextureDesc& desc) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CUDA(cudaMallocArray(&made.array, &format, width, height));
    size_t rows = height ? height : 1, row = width * sizeof(T);
    CUDA(cudaMemcpy2DToArray(made.array, 0, 0, data.data(), row, row, rows, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = made.array;
    CUDA(cudaCreateTextureObject(&made.object, &resource, &desc, nullptr));
}

template <class T>
__global__ void fetch1D(cudaTextureObject_t t, const float* x, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<T>(t, x[i]);
}

template <class T>
__global__ void fetch2D(cudaTextureObject_t t, const float* x, const float* y, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<T>(t, x[i], y[i]);
}

template <class T>
__global__ void fetch_linear_memory(cudaTextureObject_t t, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<T>(t, i);
}

// An index that lies outside, as the guide says; -1 for the border.
static long resolve(long i, long n, cudaTextureAddressMode mode) {
    switch (mode) {
    case cudaAddressModeClamp: return i < 0 ? 0 : i >= n ? n - 1 : i;
    case cudaAddressModeBorder: return i < 0 || i >= n ? -1 : i;
    case cudaAddressModeWrap: return ((i % n) + n) % n;
    default: {
        long period = ((i % (2 * n)) + 2 * n) % (2 * n);
        return period < n ? period : 2 * n - 1 - period;
    }
    }
}

static float at(const std::vector<float>& data, long x, long y, long w, long h, cudaTextureAddressMode mode, float border) {
    long i = resolve(x, w, mode), j = resolve(y, h, mode);
    return i < 0 || j < 0 ? border : data[j * w + i];
}

static void address_modes_and_filters() {
    const int w = 8, h = 4, n = 400;
    std::vector<float> data(w * h);
    for (int i = 0; i < w * h; i++) data[i] = float((i * 37) % 101);
    Buffer<float> x(n), y(n), out(n);
    for (auto mode : {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap, cudaAddressModeMirror}) {
        for (bool linear : {false, true}) {
            bool normalized = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
            auto desc = description(mode, linear ? cudaFilterModeLinear : cudaFilterModePoint, normalized);
            desc.borderColor[0] = 7;
            Made made;
            make(made, data, w, h, desc);
            for (int i = 0; i < n; i++) {
                // Multiples of 1/32 of a texel: exact in the hardware's fixed point.
                float px = (i * 13 % 640 - 160) / 32.0f, py = (i * 7 % 320 - 80) / 32.0f;
                x[i] = normalized ? px / w : px;
                y[i] = normalized ? py / h : py;
            }
            x.upload();
            y.upload();
            fetch2D<<<(n + 127) / 128, 128>>>(made.object, x.device, y.device, out.device, n);
            SYNC();
            out.download();
            for (int i = 0; i < n; i++) {
                float px = (i * 13 % 640 - 160) / 32.0f, py = (i * 7 % 320 - 80) / 32.0f, wanted;
                if (linear) {
                    float bx = px - 0.5f, by = py - 0.5f, fx = bx - std::floor(bx), fy = by - std::floor(by);
                    long ix = long(std::floor(bx)), iy = long(std::floor(by));
                    auto texel = [&](long dx, long dy) { return at(data, ix + dx, iy + dy, w, h, mode, 7); };
                    wanted = (1 - fx) * (1 - fy) * texel(0, 0) + fx * (1 - fy) * texel(1, 0) + (1 - fx) * fy * texel(0, 1) +
                             fx * fy * texel(1, 1);
                } else {
                    wanted = at(data, long(std::floor(px)), long(std::floor(py)), w, h, mode, 7);
                }
                expect(std::fabs(out[i] - wanted) <= 1e-4f * std::fabs(wanted), "address mode", 1000 * mode + i, out[i], wanted);
            }
        }
    }
}

template <class T>
static void integers(const char* what) {
    const int n = 64;
    std::vector<T> data(n);
    for (int i = 0; i < n; i++) data[i] = T(i * 5 - 100);
    Made made;
    make(made, data, n, 0, description(cudaAddressModeClamp, cudaFilterModePoint, false));
    Buffer<float> x(n);
    Buffer<T> out(n);
    for (int i = 0; i < n; i++) x[i] = i + 0.25f;
    x.upload();
    fetch1D<<<1, n>>>(made.object, x.device, out.device, n);
    SYNC();
    out.download();
    for (int i = 0; i < n; i++) expect(out[i] == data[i], what, i, double(out[i]), double(data[i]));
}

static void normalized_floats() {
    const int n = 16;
    std::vector<uchar4> data(n);
    std::vector<short2> halves(n);
    for (int i = 0; i < n; i++) {
        data[i] = make_uchar4(i * 17, 255 - i, i, 128);
        halves[i] = make_short2(short(i * 4000 - 32000), i ? 32767 : -32768);
    }
    auto desc = description(cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
    Made bytes, shorts;
    make(bytes, data, n, 0, desc);
    make(shorts, halves, n, 0, desc);
    Buffer<float> x(n);
    Buffer<float4> out(n);
    Buffer<float2> out2(n);
    for (int i = 0; i < n; i++) x[i] = i + 0.5f;
    x.upload();
    fetch1D<<<1, n>>>(bytes.object, x.device, out.device, n);
    fetch1D<<<1, n>>>(shorts.object, x.device, out2.device, n);
    SYNC();
    out.download();
    out2.download();
    for (int i = 0; i < n; i++) {
        const float found[] = {out[i].x, out[i].y, out[i].z, out[i].w, out2[i].x, out2[i].y};
        const float wanted[] = {data[i].x / 255.f, data[i].y / 255.f, data[i].z / 255.f, data[i].w / 255.f,
                                std::fmax(halves[i].x / 32767.f, -1.f), std::fmax(halves[i].y / 32767.f, -1.f)};
        for (int k = 0; k < 6; k++) {
            expect(std::fabs(found[k] - wanted[k]) < 1e-6f, "normalised float", 10 * i + k, found[k], wanted[k]);
        }
    }
}

static void linear_and_pitched_memory() {
    const int n = 100, w = 10, h = 6;
    Buffer<int2> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = make_int2(i, -i);
    in.upload();
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = in.device;
    resource.res.linear.desc = cudaCreateChannelDesc<int2>();
    resource.res.linear.sizeInBytes = (n - 10) * sizeof(int2);
    cudaTextureDesc desc = {};
    Made made;
    CUDA(cudaCreateTextureObject(&made.object, &resource, &desc, nullptr));
    fetch_linear_memory<<<1, 128>>>(made.object, out.device, n);
    SYNC();
    out.download();
    for (int i = 0; i < n; i++) {
        int wanted = i < n - 10 ? i : 0;
        expect(out[i].x == wanted && out[i].y == -wanted, "linear memory", i, out[i].x, wanted);
    }

    size_t pitch = 0;
    float* pitched = nullptr;
    CUDA(cudaMallocPitch(&pitched, &pitch, w * sizeof(float), h));
    std::vector<float> rows(w * h);
    for (int i = 0; i < w * h; i++) rows[i] = float(i);
    CUDA(cudaMemcpy2D(pitched, pitch, rows.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = pitched;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = w;
    resource.res.pitch2D.height = h;
    resource.res.pitch2D.pitchInBytes = pitch;
    Made view;
    desc = description(cudaAddressModeClamp, cudaFilterModePoint, false);
    CUDA(cudaCreateTextureObject(&view.object, &resource, &desc, nullptr));
    Buffer<float> x(w * h), y(w * h), found(w * h);
    for (int i = 0; i < w * h; i++) {
        x[i] = i % w + 0.5f;
        y[i] = i / w + 0.5f;
    }
    x.upload();
    y.upload();
    fetch2D<<<1, 64>>>(view.object, x.device, y.device, found.device, w * h);
    SYNC();
    found.download();
    for (int i = 0; i < w * h; i++) expect(found[i] == rows[i], "pitched memory", i, found[i], rows[i]);
    CUDA(cudaFree(pitched));
}

__global__ void fetch_volume(cudaTextureObject_t t, cudaTextureObject_t layers, float* out) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x, i = (z * 4 + y) * 4 + x;
    out[i] = tex3D<float>(t, x + 0.5f, y + 0.5f, z + 0.5f);
    out[i + 64] = tex3D<float>(t, x + 1.0f, y + 0.5f, z + 0.5f);
    out[i + 128] = tex2DLayered<float>(layers, x + 0.5f, y + 0.5f, z);
}

static void volumes_and_layers() {
    std::vector<float> data(64);
    for (int i = 0; i < 64; i++) data[i] = float(i * i);
    Made volume, layers;
    auto desc = description(cudaAddressModeClamp, cudaFilterModeLinear, false);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (Made* made : {&volume, &layers}) {
        unsigned flags = made == &layers ? cudaArrayLayered : 0;
        CUDA(cudaMalloc3DArray(&made->array, &format, make_cudaExtent(4, 4, 4), flags));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(data.data(), 4 * sizeof(float), 4, 4);
        copy.dstArray = made->array;
        copy.extent = make_cudaExtent(4, 4, 4);
        copy.kind = cudaMemcpyHostToDevice;
        CUDA(cudaMemcpy3D(&copy));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = made->array;
        CUDA(cudaCreateTextureObject(&made->object, &resource, &desc, nullptr));
    }
    Buffer<float> out(192);
    fetch_volume<<<4, dim3(4, 4)>>>(volume.object, layers.object, out.device);
    SYNC();
    out.download();
    for (int i = 0; i < 64; i++) {
        float right = i % 4 == 3 ? data[i] : data[i + 1], between = (data[i] + right) / 2;
        expect(out[i] == data[i], "volume", i, out[i], data[i]);
        expect(out[i + 64] == between, "volume, filtered", i, out[i + 64], between);
        expect(out[i + 128] == data[i], "layers", i, out[i + 128], data[i]);
    }
}

static void what_cuda_refuses() {
    std::vector<int> data(16);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    Made made;
    CUDA(cudaMallocArray(&made.array, &format, 16));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = made.array;
    // Integers cannot be mixed.
    auto desc = description(cudaAddressModeClamp, cudaFilterModeLinear, false);
    expect(cudaCreateTextureObject(&made.object, &resource, &desc, nullptr) == cudaErrorInvalidFilterSetting, "filter", 0, 0, 0);
    made.object = 0;
    cudaGetLastError();
    expect(cudaDestroyTextureObject(12345) == cudaErrorInvalidValue, "unknown handle", 0, 0, 0);
    cudaGetLastError();
}

int main() {
    address_modes_and_filters();
    integers<char>("char");
    integers<unsigned char>("unsigned char");
    integers<short>("short");
    integers<unsigned short>("unsigned short");
    integers<int>("int");
    integers<unsigned>("unsigned");
    integers<float>("float");
    normalized_floats();
    linear_and_pitched_memory();
    volumes_and_layers();
    what_cuda_refuses();
    return finish(all_right);
}
