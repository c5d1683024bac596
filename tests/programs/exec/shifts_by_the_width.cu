// A GPU's shift by the width of the word, or by more, leaves nothing, or only the sign. Decoders of bit streams shift by
// `32 - n` with an `n` of 0. Amounts are known at run time alone, in loops that threads leave one by one.
#include "check.h"

template <class Word> struct Shifted {
    Word left, right, sign;
};

template <class Word, class Signed>
__global__ void decode(const Word* words, const int* taken, Shifted<Word>* out) {
    int t = threadIdx.x, round = 0;
    Word left = 0, right = 0, sign = 0;
    while (round <= taken[t] % 3) {
        unsigned by = taken[t];
        left = 3 * left + (words[t] << by);
        right = 3 * right + (words[t] >> by);
        sign = 3 * sign + Word(Signed(words[t]) >> by);
        round += 1 + int(right & 1);
        if (left == 77) return;
    }
    out[t] = {left, right, sign};
}

template <class Word, class Signed> bool right_for(int bits) {
    Buffer<Word> words(128);
    Buffer<int> taken(128);
    Buffer<Shifted<Word>> out(128);
    for (int i = 0; i < 128; i++) {
        words[i] = Word(0x9e3779b97f4a7c15) * (2 * i + 1);
        taken[i] = i % 97;
    }
    words.upload();
    taken.upload();
    decode<Word, Signed><<<1, 128>>>(words.device, taken.device, out.device);
    if (cudaDeviceSynchronize() != cudaSuccess) return false;
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) {
        Shifted<Word> want = {0, 0, 0};
        for (int round = 0; round <= taken[i] % 3;) {
            int by = taken[i];
            bool far = by >= bits;
            want.left = 3 * want.left + (far ? 0 : words[i] << by);
            want.right = 3 * want.right + (far ? 0 : words[i] >> by);
            want.sign = 3 * want.sign + Word(Signed(words[i]) >> (far ? bits - 1 : by));
            round += 1 + int(want.right & 1);
        }
        right = right && out[i].left == want.left && out[i].right == want.right && out[i].sign == want.sign;
    }
    return right;
}

int main() { return finish(right_for<unsigned, int>(32) && right_for<unsigned long long, long long>(64)); }
