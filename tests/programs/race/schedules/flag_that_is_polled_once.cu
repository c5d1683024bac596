//@ revisions: writer_first writer_last reader_first reader_last fixed
//@ opt: O1
//@[reader_first] findings: missing-fence
//@[reader_last] findings: missing-fence
//@[writer_first] findings: missing-fence
//@[writer_last] findings: missing-fence
// A block hands a value to another one, which looks once whether it is there. Without the writer's fence or
// the reader's, this is a race, but only if the reader comes later.
#include "check.h"

#if defined(WRITER_LAST) || defined(READER_FIRST)
#define WRITER 1
#else
#define WRITER 0
#endif

__global__ void hand_over(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == WRITER) {
        *value = 42; //~ A
#if !defined(WRITER_FIRST) && !defined(WRITER_LAST)
        __threadfence();
#endif
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0) == 1) {
#if !defined(READER_FIRST) && !defined(READER_LAST)
        __threadfence();
#endif
        *out = *value; //~ B
    }
}
//~ RACE[writer_first] write-read global grid: A B
//~ RACE[writer_last] write-read global grid: A B
//~ RACE[reader_first] write-read global grid: A B
//~ RACE[reader_last] write-read global grid: A B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    hand_over<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 0 || out[0] == 42);
}
