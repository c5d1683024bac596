// Thrust and CUB of CUDA 13 lack base classes, function objects and iterators, and need C++17. Older programs compile and
// run as before.
#include "check.h"
#include <cub/block/block_reduce.cuh>
#include <cub/iterator/counting_input_iterator.cuh>
#include <thrust/functional.h>
#include <thrust/optional.h>

struct Square : public thrust::unary_function<int, int> {
    __host__ __device__ int operator()(int x) const { return x * x; }
};
struct Less : public thrust::binary_function<int, int, bool> {
    __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

const int N = 128;
using Numbers = cub::CountingInputIterator<int>;
using Squares = cub::TransformInputIterator<int, Square, Numbers>;

__global__ void reduce(Squares squares, cub::ConstantInputIterator<int> two, int* out) {
    using Reduce = cub::BlockReduce<int, N>;
    __shared__ typename Reduce::TempStorage storage[3];
    Square::result_type square = squares[threadIdx.x];
    int sum = Reduce(storage[0]).Reduce(square * two[threadIdx.x], cub::Sum());
    int largest = Reduce(storage[1]).Reduce(square, cub::Max());
    int smallest = Reduce(storage[2]).Reduce(square, cub::Min());
    if (threadIdx.x) return;
    out[0] = sum;
    out[1] = largest;
    out[2] = smallest;
    cub::DiscardOutputIterator<> nowhere;
    nowhere[5] = cub::Difference()(sum, cub::Division()(largest, 2));
    out[3] = thrust::not2(Less())(2, 1) + cub::Equality()(3, 3) + cub::Inequality()(3, 3);
}

int main() {
    Buffer<int> out(4);
    reduce<<<1, N>>>(Squares(Numbers(1), Square()), cub::ConstantInputIterator<int>(2), out.device);
    SYNC();
    out.download();
    bool right = out[0] == N * (N + 1) * (2 * N + 1) / 3 && out[1] == N * N && out[2] == 1 && out[3] == 2;
    return finish(right && cub::DivideAndRoundUp(7, 2) == 4 && !thrust::optional<int>().has_value());
}
