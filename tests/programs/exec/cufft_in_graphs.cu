//@ opt: O1
//@ seeds: 0
//@ compile-flags: -lcufft
// A captured call becomes a node, which runs also after the plan was destroyed.
#include "fft.h"

int main() {
    const int N = 24;
    cufftHandle plan;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t launched;
    Buffer<cufftComplex> x(N);
    std::vector<Wide> values;
    for (int i = 0; i < N; i++) narrow(x[i], number(i)), values.push_back(number(i));
    x.upload();
    CUDA(cudaStreamCreate(&stream));
    CUDA(cufftPlan1d(&plan, N, CUFFT_C2C, 1));
    CUDA(cufftSetStream(plan, stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA(cufftExecC2C(plan, x.device, x.device, CUFFT_FORWARD));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&launched, graph, nullptr, nullptr, 0));
    x.download();
    bool ok = wide(x[0]) == values[0];
    for (int launch = 0; launch < 2; launch++) {
        CUDA(cudaGraphLaunch(launched, stream));
        CUDA(cudaStreamSynchronize(stream));
        x.download();
        values = transformed(values, {1, 1, N}, CUFFT_FORWARD);
        for (int i = 0; i < N; i++) ok &= near(wide(x[i]), values[i], tolerance<float>());
        if (launch == 0) CUDA(cufftDestroy(plan));
    }
    CUDA(cudaGraphExecDestroy(launched));
    CUDA(cudaGraphDestroy(graph));
    return finish(ok);
}
