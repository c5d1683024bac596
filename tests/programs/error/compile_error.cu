//@ opt: O2
//@ compile-error: use of undeclared identifier 'treadIdx'
// clang's own errors come through.
__global__ void kernel(int* out) { out[treadIdx.x] = 1; }
int main() {}
