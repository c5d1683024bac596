#include "scan.h"

int main() {
    int numbers[256];
    for (int i = 0; i < 256; i++) numbers[i] = 1;
    if (!running_sums(numbers)) return 2;
    for (int i = 0; i < 256; i++)
        if (numbers[i] != i + 1) return 1;
}
