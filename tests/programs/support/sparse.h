// What the test programs of cuSPARSE share: matrices of random numbers, stored in several ways.
#pragma once
#include <cmath>
#include <complex>
#include <vector>

#include <cusparse.h>

#include "check.h"

// Ends the program, status 2, where a call of cuSPARSE fails.
#define SPARSE(call)                                                                          \
    do {                                                                                      \
        cusparseStatus_t sparse_status = (call);                                              \
        if (sparse_status != CUSPARSE_STATUS_SUCCESS) {                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                    cusparseGetErrorString(sparse_status));                                   \
            exit(2);                                                                          \
        }                                                                                     \
    } while (0)

using Complex = std::complex<float>;
using DoubleComplex = std::complex<double>;

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> { static constexpr cudaDataType value = CUDA_R_32F; };
template <>
struct TypeOf<double> { static constexpr cudaDataType value = CUDA_R_64F; };
template <>
struct TypeOf<Complex> { static constexpr cudaDataType value = CUDA_C_32F; };
template <>
struct TypeOf<DoubleComplex> { static constexpr cudaDataType value = CUDA_C_64F; };

template <class I>
constexpr cusparseIndexType_t INDEX = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;

inline unsigned next_random() {
    static unsigned state = 1;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

// Small whole numbers, with which sums are exact.
inline void small_number(float& to) { to = float(int(next_random() % 9)) - 4; }
inline void small_number(double& to) { to = double(int(next_random() % 9)) - 4; }
template <class R>
void small_number(std::complex<R>& to) {
    R re, im;
    small_number(re), small_number(im);
    to = {re, im};
}

inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
template <class R>
std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }

// A matrix with zeros in it, by rows.
template <class T>
struct Plain {
    int rows, cols;
    std::vector<T> values;

    Plain(int m, int n) : rows(m), cols(n), values(size_t(m) * n) {}
    T& at(int row, int col) { return values[size_t(row) * cols + col]; }

    static Plain random(int m, int n, int percent) {
        Plain made(m, n);
        for (T& value : made.values)
            if (int(next_random() % 100) < percent) small_number(value);
        return made;
    }
    Plain after(cusparseOperation_t operation) {
        if (operation == CUSPARSE_OPERATION_NON_TRANSPOSE) return *this;
        Plain made(cols, rows);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                made.at(j, i) = operation == CUSPARSE_OPERATION_TRANSPOSE ? at(i, j) : conjugate(at(i, j));
        return made;
    }
    Plain times(Plain other) {
        Plain made(rows, other.cols);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < other.cols; j++)
                for (int k = 0; k < cols; k++) made.at(i, j) += at(i, k) * other.at(k, j);
        return made;
    }
};

// The same matrix on the device, in one of the formats.
template <class T, class I>
struct Stored {
    Buffer<I> offsets, indices;
    Buffer<T> values;
    cusparseSpMatDescr_t descriptor;

    Stored(Plain<T> plain, cusparseFormat_t format, cusparseIndexBase_t base)
        : offsets(plain.rows * plain.cols + plain.rows + plain.cols + 1), indices(plain.rows * plain.cols + 1),
          values(plain.rows * plain.cols + 1) {
        bool by_columns = format == CUSPARSE_FORMAT_CSC, pairs = format == CUSPARSE_FORMAT_COO;
        int outer = by_columns ? plain.cols : plain.rows, inner = by_columns ? plain.rows : plain.cols, nnz = 0;
        for (int i = 0; i < outer; i++) {
            if (!pairs) offsets[i] = nnz + base;
            for (int j = 0; j < inner; j++) {
                T value = by_columns ? plain.at(j, i) : plain.at(i, j);
                if (value == T()) continue;
                if (pairs) offsets[nnz] = i + base;
                indices[nnz] = j + base, values[nnz++] = value;
            }
        }
        if (!pairs) offsets[outer] = nnz + base;
        offsets.upload(), indices.upload(), values.upload();
        cudaDataType type = TypeOf<T>::value;
        if (pairs)
            SPARSE(cusparseCreateCoo(&descriptor, plain.rows, plain.cols, nnz, offsets.device, indices.device,
                                     values.device, INDEX<I>, base, type));
        else
            SPARSE((by_columns ? cusparseCreateCsc : cusparseCreateCsr)(
                &descriptor, plain.rows, plain.cols, nnz, offsets.device, indices.device, values.device, INDEX<I>,
                INDEX<I>, base, type));
    }
    ~Stored() { SPARSE(cusparseDestroySpMat(descriptor)); }
};
