//@ opt: O2
//@ compile-error: no matching function for call to 'on_the_host'
// A call across the sides is left alone only where the caller is not compiled.
template <typename T> T on_the_host(T value) { return value; }
__global__ void kernel(int* out) { *out = on_the_host(*out); }
int main() {}
