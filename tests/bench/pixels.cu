// The pixels of an image, three bytes each, changed in place.
__global__ void pixels(int n, unsigned char* image) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = image[3 * i], g = image[3 * i + 1], b = image[3 * i + 2], grey = (r + 2 * g + b) / 4;
    image[3 * i] = (r + grey) / 2;
    image[3 * i + 1] = (g + grey) / 2;
    image[3 * i + 2] = (b + grey) / 2;
}
#include "pixels.h"
