// While a kernel runs the host uses other bytes of the same pages, reads what
// the kernel reads, calls the system with them, and starts a thread.
#include <unistd.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <thread>
#include "check.h"

__global__ void produce(const int* input, int* data) { data[2 * threadIdx.x] = input[threadIdx.x]; }

int main() {
    int *data, *input;
    CUDA(cudaMallocManaged(&data, 4096 * sizeof(int)));
    CUDA(cudaMallocManaged(&input, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++) input[i] = i;
    bool right = true;
    int file = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    for (int round = 0; round < 3; round++) {
        produce<<<1, 64>>>(input, data);
        for (int i = 0; i < 64; i++) {
            data[2 * i + 1] = input[i];
            right &= data[2 * i + 1] == i;
        }
        // Bytes of protected pages, read and written by the system.
        right &= write(null, data + 1024, 100) == 100;
        produce<<<1, 64>>>(input, data);
        right &= read(file, data + 2048, 100) == 100;
        produce<<<1, 64>>>(input, data);
        iovec parts[2] = {{data + 3000, 40}, {data + 3500, 40}};
        right &= readv(file, parts, 2) == 80;
        produce<<<1, 64>>>(input, data);
        std::thread([&] { right &= input[5] == 5 && write(null, data + 1024, 100) == 100; }).join();
        FILE* text = fopen("/dev/null", "w");
        right &= fwrite(data + 1024, 1, 4000, text) == 4000 && fprintf(text, "%d", input[3]) == 1;
        fclose(text);
        SYNC();
        for (int i = 0; i < 64; i++) right &= data[2 * i] == i && data[2 * i + 1] == i;
    }
    close(file);
    close(null);
    CUDA(cudaFree(data));
    CUDA(cudaFree(input));
    return finish(right);
}
