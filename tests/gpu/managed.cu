// `__managed__` variables among ordinary ones. The program copies and registers the ordinary ones as if there
// were no managed variables beside them.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

#define EXPECT(condition)                                                                                    \
    if (!(condition)) printf("line %d: %s\n", __LINE__, #condition)
#define CHECK(call)                                                                                          \
    if (cudaError_t error = (call)) printf("line %d: %s\n", __LINE__, cudaGetErrorName(error))

// Each is longer than a page.
const int n = 2000;
int first[n];
__managed__ int total = 7;
int between[n];
static __managed__ int table[5] = {1, 2, 3, 4, 5};
__managed__ char letter = 'x';
int last[n];
struct Pair {
    int key;
    char name[3];
};
__device__ __managed__ Pair pair = {3, "ab"};
template <class T> __managed__ T of_type = 11;
struct Counts {
    static __managed__ unsigned all;
};
__managed__ unsigned Counts::all = 13;
namespace {
__managed__ double hidden[2];
// `many` is longer than a page.
__managed__ int many[1100];
} // namespace
int behind[n];

__global__ void add() {
    int t = threadIdx.x;
    if (t < 5) table[t] += 10;
    if (t == 0) {
        total += of_type<int>;
        letter = 'y';
        pair.key++;
        pair.name[0] = 'c';
        Counts::all++;
        hidden[1] = 2.5;
        many[1099] = 4;
    }
}

static bool is_alone(const void* variable, size_t size) {
    auto page = [](const void* at) { return (uintptr_t)at / 4096; };
    struct {
        const void* at;
        size_t size;
    } all[] = {{first, sizeof first},    {between, sizeof between},    {last, sizeof last},
               {behind, sizeof behind},  {&total, sizeof total},       {table, sizeof table},
               {&letter, sizeof letter}, {&pair, sizeof pair},         {hidden, sizeof hidden},
               {many, sizeof many},      {&of_type<int>, sizeof(int)}, {&Counts::all, sizeof(unsigned)}};
    for (auto& other : all) {
        if (other.at == variable) continue;
        if (page((char*)other.at + other.size - 1) >= page(variable) &&
            page(other.at) <= page((char*)variable + size - 1))
            return false;
    }
    return true;
}

int main() {
    // Initial values, and the types' sizes.
    EXPECT(total == 7 && table[0] == 1 && table[4] == 5 && letter == 'x' && pair.key == 3 &&
           !strcmp(pair.name, "ab"));
    EXPECT(of_type<int> == 11 && Counts::all == 13 && hidden[1] == 0 && many[1099] == 0);
    EXPECT(sizeof total == 4 && sizeof table == 20 && sizeof letter == 1 && sizeof pair == 8 &&
           sizeof many == 4400);
    EXPECT(is_alone(&total, sizeof total) && is_alone(table, sizeof table) && is_alone(&letter, 1) &&
           is_alone(&pair, sizeof pair));
    EXPECT(is_alone(&of_type<int>, 4) && is_alone(&Counts::all, 4) && is_alone(hidden, sizeof hidden) &&
           is_alone(many, sizeof many));
    total = 20;
    add<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT(total == 31 && table[0] == 11 && table[4] == 15 && letter == 'y' && pair.key == 4 &&
           !strcmp(pair.name, "cb"));
    EXPECT(Counts::all == 14 && hidden[1] == 2.5 && many[1099] == 4);

    // What lies beside them is ordinary memory: copied whole, and page-locked by the program itself.
    int *device, numbers[n];
    for (int i = 0; i < n; i++) numbers[i] = i + 1;
    CHECK(cudaMalloc(&device, sizeof first));
    for (int* array : {first, between, last, behind}) {
        memcpy(array, numbers, sizeof numbers);
        CHECK(cudaMemcpy(device, array, sizeof first, cudaMemcpyHostToDevice));
        memset(array, 0, sizeof first);
        CHECK(cudaMemcpy(array, device, sizeof first, cudaMemcpyDeviceToHost));
        EXPECT(!memcmp(array, numbers, sizeof numbers));
    }
    for (int* array : {first, last}) {
        CHECK(cudaHostRegister(array, sizeof first, 0));
        CHECK(cudaMemcpy(array, device, sizeof first, cudaMemcpyDeviceToHost));
        CHECK(cudaHostUnregister(array));
    }
    // The variables themselves, as symbols and as memory.
    int got[5] = {};
    CHECK(cudaMemcpyFromSymbol(got, table, sizeof got));
    EXPECT(got[4] == 15);
    CHECK(cudaMemcpy(device, many, sizeof many, cudaMemcpyDefault));
    CHECK(cudaMemcpy(got, device + 1099, 4, cudaMemcpyDefault));
    EXPECT(got[0] == 4);
    puts("done");
}
