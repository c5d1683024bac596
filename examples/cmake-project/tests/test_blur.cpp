#include "blur.h"

int main() {
    // All alike: the mean is right whatever the schedule, and yet there is a race unless FIXED.
    int numbers[256] = {};
    if (!blur(numbers)) return 2;
    for (int number : numbers)
        if (number != 0) return 1;
}
