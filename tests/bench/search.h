#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int length = 6;
    int n = bench.size(1 << 21, 2000);
    Random random;
    std::vector<unsigned char> text(n), word(length);
    for (unsigned char& c : text) c = 'a' + random.next() % 3;
    for (unsigned char& c : word) c = 'a' + random.next() % 3;
    Buffer<unsigned char> dtext(text), dword(word), dfound(n);
    bench.time(
        "search", [] {}, [&] { LAUNCH(search, ((n + 255) / 256), (256), n, length, dtext, dword, dfound); });
    std::vector<unsigned char> got = dfound.read();
    for (int i = 0; i < n; i++) {
        bool found = i + length <= n && !memcmp(&text[i], word.data(), length);
        expect(got[i] == found, "place", i);
    }
}
