// The program forks, waits for all its children, and runs another program while launches on managed memory are not
// waited for. What gpurace forks for these launches is no child of the program's.
#include "check.h"

#include <cerrno>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

__global__ void sums(int n, const int* mask, const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i < n && mask[i]) {
        for (int r = 0; r < 1024; r++) sum += in[(i + r) & 127];
        out[i] = sum;
    }
}

int main() {
    const int N = 1024;
    int *mask, *in, *out;
    for (int** array : {&mask, &in, &out}) CUDA(cudaMallocManaged(array, N * sizeof(int)));
    for (int i = 0; i < N; i++) mask[i] = i % 2, in[i] = i % 128, out[i] = -1;
    bool right = true;
    for (int round = 0; round < 3; round++) {
        sums<<<N / 256, 256>>>(N, mask, in, out);
        if (pid_t child = fork()) {
            int status;
            right &= wait(&status) == child && WEXITSTATUS(status) == 7;
        } else {
            _exit(7);
        }
        // All children have ended.
        right &= wait(nullptr) == -1 && errno == ECHILD;
        right &= system("exit 3") != -1;
        SYNC();
    }
    for (int i = 0; i < N; i++) right &= out[i] == (i % 2 ? 1024 / 128 * (127 * 128 / 2) : -1);
    return finish(right);
}
