#include "bench.h"

#include <complex>

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int size = 256;
    int blocks = bench.size(2048, 2);
    Random random;
    std::vector<float> real(blocks * size), imaginary(blocks * size), cosines(size / 2), sines(size / 2);
    for (int i = 0; i < blocks * size; i++) {
        real[i] = random.unit();
        imaginary[i] = random.unit();
    }
    for (int i = 0; i < size / 2; i++) {
        cosines[i] = (float)cos(2 * M_PI * i / size);
        sines[i] = (float)-sin(2 * M_PI * i / size);
    }
    Buffer<float> dreal(real), dimaginary(imaginary), dcosines(cosines), dsines(sines);
    auto prepare = [&] {
        dreal.write(real);
        dimaginary.write(imaginary);
    };
    bench.time("fft", prepare,
               [&] { LAUNCH(fft, (blocks), (size / 2), dreal, dimaginary, dcosines, dsines); });
    std::vector<float> re = dreal.read(), im = dimaginary.read();
    for (int b = 0; b < blocks; b += blocks > 64 ? 64 : 1)
        for (int k = 0; k < size; k += 5) {
            std::complex<double> sum;
            for (int i = 0; i < size; i++)
                sum += std::complex<double>(real[b * size + i], imaginary[b * size + i]) *
                       std::polar(1.0, -2 * M_PI * (i * k % size) / size);
            std::complex<double> got(re[b * size + k], im[b * size + k]);
            expect(std::abs(got - sum) < 1e-2, "frequency", b * size + k);
        }
}
