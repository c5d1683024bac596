//@ seeds: 0
// The named direction says which side is the device's. The other side may be the device's too: addresses tell, as on a
// GPU. A side that must be the device's may not be the host's.
#include "check.h"

int main() {
    Buffer<int> a(8), b(8), c(8);
    iota(a);
    CUDA(cudaMemcpy(b.device, a.device, 8 * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(c.device, b.device, 8 * sizeof(int), cudaMemcpyDeviceToHost));
    SYNC();
    c.download();
    bool ok = true;
    for (int i = 0; i < 8; i++) ok &= c[i] == i;
    ok &= cudaMemcpy(b.host, a.host, 8 * sizeof(int), cudaMemcpyHostToDevice) == cudaErrorInvalidValue;
    ok &= cudaMemcpy(b.host, a.host, 8 * sizeof(int), cudaMemcpyDeviceToHost) == cudaErrorInvalidValue;
    ok &= cudaMemcpy(b.host, a.device, 8 * sizeof(int), cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue;
    return finish(ok);
}
