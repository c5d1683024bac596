//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcurand
// A captured call becomes a node. Each launch of the graph goes on in the generator's sequence, also after the generator
// was destroyed.
#include "rand.h"

int main() {
    const size_t N = 64;
    curandGenerator_t generator;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t launched;
    Generator reference(CURAND_RNG_PSEUDO_PHILOX4_32_10, true);
    std::vector<float> wanted = uniform(reference, 2 * N);

    Buffer<float> x(N);
    CUDA(cudaStreamCreate(&stream));
    CUDA(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    CUDA(curandSetStream(generator, stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA(curandGenerateUniform(generator, x.device, N));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(curandDestroyGenerator(generator));
    CUDA(cudaGraphInstantiate(&launched, graph, nullptr, nullptr, 0));
    x.download();
    bool ok = x[0] == 0;
    for (int launch = 0; launch < 2; launch++) {
        CUDA(cudaGraphLaunch(launched, stream));
        CUDA(cudaStreamSynchronize(stream));
        x.download();
        for (size_t i = 0; i < N; i++) ok &= x[i] == wanted[launch * N + i];
    }
    CUDA(cudaGraphExecDestroy(launched));
    CUDA(cudaGraphDestroy(graph));
    return finish(ok);
}
