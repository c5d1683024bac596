//@ stdout: host before
//@ stdout: kernel 1
//@ stdout: host between
//@ stdout: kernel 2
//@ stdout: right
// Device output appears at synchronisation, in order with the host's own.
#include "check.h"

__global__ void say(int n) { printf("kernel %d\n", n); }

int main() {
    printf("host before\n");
    say<<<1, 1>>>(1);
    SYNC();
    printf("host between\n");
    say<<<1, 1>>>(2);
    SYNC();
    return finish(true);
}
