//@ module: yes
//@ stdout: right
// Arrays, textures and surfaces of the driver API.
#include "driver.h"

extern "C" __global__ void fetch(cudaTextureObject_t bytes, cudaTextureObject_t numbers, float* out) {
    int i = threadIdx.x;
    out[i] = tex2D<float>(bytes, i + 0.5f, 1.5f);
    out[8 + i] = tex1Dfetch<int>(numbers, i);
}
extern "C" __global__ void store(cudaSurfaceObject_t surface) {
    surf2Dwrite<unsigned char>(threadIdx.x, surface, threadIdx.x, 0);
}

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    // 8 columns and 2 rows of bytes, which a texture makes floats from 0 to 1.
    CUDA_ARRAY3D_DESCRIPTOR desc = {};
    desc.Width = 8;
    desc.Height = 2;
    desc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.NumChannels = 1;
    desc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CUarray array;
    CU(cuArray3DCreate(&array, &desc));
    CUDA_ARRAY_DESCRIPTOR found;
    CU(cuArrayGetDescriptor(&found, array));
    expect(found.Width == 8 && found.Height == 2 && found.Format == CU_AD_FORMAT_UNSIGNED_INT8 && found.NumChannels == 1,
           "the descriptor of an array");
    unsigned char texels[2][8];
    for (int i = 0; i < 16; i++) texels[i / 8][i % 8] = static_cast<unsigned char>(i * 17);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels;
    copy.srcPitch = 8;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = 8;
    copy.Height = 2;
    CU(cuMemcpy2D(&copy));

    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC sampling = {};
    CUtexObject bytes, numbers;
    CU(cuTexObjectCreate(&bytes, &resource, &sampling, nullptr));
    CUsurfObject surface;
    CU(cuSurfObjectCreate(&surface, &resource));

    CUdeviceptr data, out;
    CU(cuMemAlloc(&data, 8 * sizeof(int)));
    CU(cuMemAlloc(&out, 16 * sizeof(float)));
    CU(cuMemsetD32(data, 5, 8));
    CUDA_RESOURCE_DESC linear = {};
    linear.resType = CU_RESOURCE_TYPE_LINEAR;
    linear.res.linear.devPtr = data;
    linear.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
    linear.res.linear.numChannels = 1;
    linear.res.linear.sizeInBytes = 8 * sizeof(int);
    sampling.flags = CU_TRSF_READ_AS_INTEGER;
    CU(cuTexObjectCreate(&numbers, &linear, &sampling, nullptr));

    void* arguments[] = {&bytes, &numbers, &out};
    CU(cuLaunchKernel(function(module, "fetch"), 1, 1, 1, 8, 1, 1, 0, nullptr, arguments, nullptr));
    float host[16];
    CU(cuMemcpyDtoH(host, out, sizeof host));
    expect(host[0] == 8 * 17 / 255.0f && host[7] == 1 && host[15] == 5, "what the textures give");

    void* to_store[] = {&surface};
    CU(cuLaunchKernel(function(module, "store"), 1, 1, 1, 8, 1, 1, 0, nullptr, to_store, nullptr));
    CU(cuCtxSynchronize());
    CUDA_MEMCPY2D back = {};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = array;
    back.srcXInBytes = 2;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = texels;
    back.dstPitch = 8;
    back.WidthInBytes = 4;
    back.Height = 1;
    CU(cuMemcpy2D(&back));
    expect(texels[0][0] == 2 && texels[0][3] == 5 && texels[0][4] == 4 * 17, "what the surface took");
    CU(cuTexObjectDestroy(bytes));
    CU(cuTexObjectDestroy(numbers));
    CU(cuSurfObjectDestroy(surface));
    CU(cuArrayDestroy(array));
    return finish(cuArrayDestroy(array) != CUDA_SUCCESS);
}
