//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// Wrong uses of cuRAND return its statuses and write nothing.
#include "rand.h"

int wrong = 0;

#define EXPECT(status, call)                                                                   \
    do {                                                                                       \
        curandStatus_t found = (call);                                                         \
        if (found != CURAND_STATUS_##status) printf("%s: status %d\n", #call, int(found)), wrong++; \
    } while (0)

int main() {
    Buffer<unsigned> words(64);
    Buffer<unsigned long long> longs(64);
    Buffer<float> x(64);
    Buffer<double> y(64);
    int value = 0;
    curandGenerator_t none = nullptr, destroyed;
    EXPECT(SUCCESS, curandGetVersion(&value));
    if (value != CURAND_VERSION) wrong++;
    EXPECT(SUCCESS, curandGetProperty(MAJOR_VERSION, &value));
    if (value != CURAND_VER_MAJOR) wrong++;
    EXPECT(OUT_OF_RANGE, curandGetProperty(libraryPropertyType(3), &value));

    EXPECT(TYPE_ERROR, curandCreateGenerator(&destroyed, CURAND_RNG_TEST));
    EXPECT(TYPE_ERROR, curandCreateGeneratorHost(&destroyed, curandRngType_t(205)));
    EXPECT(SUCCESS, curandCreateGenerator(&destroyed, CURAND_RNG_PSEUDO_DEFAULT));
    EXPECT(SUCCESS, curandDestroyGenerator(destroyed));
    for (curandGenerator_t no : {none, destroyed}) {
        EXPECT(NOT_INITIALIZED, curandDestroyGenerator(no));
        EXPECT(NOT_INITIALIZED, curandSetStream(no, nullptr));
        EXPECT(NOT_INITIALIZED, curandSetPseudoRandomGeneratorSeed(no, 1));
        EXPECT(NOT_INITIALIZED, curandSetGeneratorOffset(no, 1));
        EXPECT(NOT_INITIALIZED, curandSetGeneratorOrdering(no, CURAND_ORDERING_PSEUDO_BEST));
        EXPECT(NOT_INITIALIZED, curandSetQuasiRandomGeneratorDimensions(no, 1));
        EXPECT(NOT_INITIALIZED, curandGenerateSeeds(no));
        EXPECT(NOT_INITIALIZED, curandGenerate(no, words.device, 1));
        EXPECT(NOT_INITIALIZED, curandGenerateLongLong(no, longs.device, 1));
        EXPECT(NOT_INITIALIZED, curandGenerateUniform(no, x.device, 1));
        EXPECT(NOT_INITIALIZED, curandGenerateNormalDouble(no, y.device, 2, 0, 1));
        EXPECT(NOT_INITIALIZED, curandGeneratePoisson(no, words.device, 1, 1));
    }

    Generator pseudo(CURAND_RNG_PSEUDO_MRG32K3A);
    EXPECT(TYPE_ERROR, curandSetQuasiRandomGeneratorDimensions(pseudo, 1));
    EXPECT(TYPE_ERROR, curandGenerateLongLong(pseudo, longs.device, 1));
    EXPECT(OUT_OF_RANGE, curandSetGeneratorOrdering(pseudo, CURAND_ORDERING_QUASI_DEFAULT));
    EXPECT(SUCCESS, curandSetGeneratorOrdering(pseudo, CURAND_ORDERING_PSEUDO_LEGACY));
    EXPECT(LENGTH_NOT_MULTIPLE, curandGenerateNormal(pseudo, x.device, 3, 0, 1));
    EXPECT(LENGTH_NOT_MULTIPLE, curandGenerateNormalDouble(pseudo, y.device, 5, 0, 1));
    EXPECT(LENGTH_NOT_MULTIPLE, curandGenerateLogNormal(pseudo, x.device, 1, 0, 1));
    EXPECT(LENGTH_NOT_MULTIPLE, curandGenerateLogNormalDouble(pseudo, y.device, 7, 0, 1));
    EXPECT(SUCCESS, curandGenerateUniform(pseudo, x.device + 60, 3));
    EXPECT(OUT_OF_RANGE, curandGeneratePoisson(pseudo, words.device, 1, 0));
    EXPECT(OUT_OF_RANGE, curandGeneratePoisson(pseudo, words.device, 1, 400001));
    EXPECT(OUT_OF_RANGE, curandGenerateBinomial(pseudo, words.device, 1, 10, 1.5));

    Generator quasi(CURAND_RNG_QUASI_SOBOL32), wide(CURAND_RNG_QUASI_SOBOL64);
    EXPECT(TYPE_ERROR, curandSetPseudoRandomGeneratorSeed(quasi, 1));
    EXPECT(TYPE_ERROR, curandGenerateLongLong(quasi, longs.device, 1));
    EXPECT(TYPE_ERROR, curandGenerate(wide, words.device, 1));
    EXPECT(OUT_OF_RANGE, curandSetGeneratorOrdering(quasi, CURAND_ORDERING_PSEUDO_BEST));
    EXPECT(SUCCESS, curandSetGeneratorOrdering(quasi, CURAND_ORDERING_QUASI_DEFAULT));
    EXPECT(OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(quasi, 0));
    EXPECT(OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(quasi, 20001));
    EXPECT(SUCCESS, curandSetQuasiRandomGeneratorDimensions(quasi, 3));
    EXPECT(LENGTH_NOT_MULTIPLE, curandGenerateUniform(quasi, x.device, 4));
    EXPECT(SUCCESS, curandGenerateNormal(quasi, x.device + 55, 9, 0, 1));

    curandDirectionVectors32_t* vectors;
    curandDirectionVectors64_t* wide_vectors;
    EXPECT(OUT_OF_RANGE, curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_64_JOEKUO6));
    EXPECT(OUT_OF_RANGE, curandGetDirectionVectors64(&wide_vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6));

    // No failed call has written.
    x.download(), y.download(), words.download(), longs.download();
    bool ok = wrong == 0;
    for (int i = 0; i < 55; i++) ok &= x[i] == 0;
    for (int i = 0; i < 64; i++) ok &= y[i] == 0 && words[i] == 0 && longs[i] == 0;

    // An error that nobody has asked for is there before the call.
    CUDA(cudaDeviceSynchronize());
    cudaFree(&value);
    EXPECT(PREEXISTING_FAILURE, curandGenerateUniform(pseudo, x.device, 1));
    cudaGetLastError();
    EXPECT(SUCCESS, curandGenerateUniform(pseudo, x.device, 1));
    return finish(ok && wrong == 0);
}
