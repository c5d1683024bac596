//@ opt: O2
//@ compile-error: no matching function for call to 'on_the_device'
template <typename T> __device__ T on_the_device(T value) { return value; }
int main() { return on_the_device(0); }
