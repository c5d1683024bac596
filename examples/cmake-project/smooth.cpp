// Blurs a step and prints its running sums; C++ that knows nothing of CUDA.
#include <cstdio>

#include "blur.h"
#include "scan.h"

int main() {
    int numbers[256];
    for (int i = 0; i < 256; i++) numbers[i] = i < 128 ? 0 : 30;
    if (!blur(numbers) || !running_sums(numbers)) return 2;
    printf("%d of %d\n", numbers[255], 128 * 30);
}
