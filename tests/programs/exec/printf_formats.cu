//@ stdout: int -3 3000000000 ff 0X1F 017 |   42|42   |+7|00042|
//@ stdout: long -5000000000 18446744073709551615 deadbeefcafe
//@ stdout: real 1.500000 -2.5e+00 0.25 0x1.8p+1 |  3.14|
//@ stdout: text hello c % |   abc|abc   |ab|
//@ stdout: star |     9|
//@ stdout: returned 2
//@ stdout: right
// `printf` in a kernel: conversions, flags, widths, and its result.
#include "check.h"

__global__ void print(int* returned) {
    printf("int %d %u %x %#X %#o |%5d|%-5d|%+d|%05d|\n", -3, 3000000000u, 255, 31, 15, 42, 42, 7, 42);
    printf("long %lld %llu %llx\n", -5000000000ll, ~0ull, 0xdeadbeefcafell);
    printf("real %f %.1e %g %a |%6.2f|\n", 1.5f, -2.5, 0.25, 3.0, 3.14159);
    printf("text %s %c %% |%6s|%-6s|%.2s|\n", "hello", 'c', "abc", "abc", "abc");
    printf("star |%*d|\n", 6, 9);
    *returned = printf("returned %d\n", 2);
}

int main() {
    Buffer<int> returned(1);
    print<<<1, 1>>>(returned.device);
    SYNC();
    returned.download();
    // The result of CUDA's printf is the number of arguments.
    return finish(returned[0] == 1);
}
