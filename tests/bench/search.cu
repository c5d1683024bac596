// Looks for a word in a text, at each place.
__global__ void search(int n, int length, const unsigned char* text, const unsigned char* word,
                       unsigned char* found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    if (i + length <= n)
        while (k < length && text[i + k] == word[k]) k++;
    found[i] = k == length;
}
#include "search.h"
