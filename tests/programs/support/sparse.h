// What the test programs of cuSPARSE share: matrices of random numbers, stored in several ways.
#pragma once
#include <cmath>
#include <vector>

#include <cusparse_v2.h>

#include "check.h"
#include "numbers.h"

template <class I>
constexpr cusparseIndexType_t INDEX = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;

// A matrix by rows, with zeros in it. Its numbers are small and whole, so sums are exact.
template <class T>
struct Plain {
    int rows, cols;
    std::vector<T> values;

    Plain(int m, int n) : rows(m), cols(n), values(size_t(m) * n) {}
    T& at(int row, int col) { return values[size_t(row) * cols + col]; }

    static Plain random(int m, int n, int percent) {
        Plain made(m, n);
        for (T& value : made.values)
            if (next_random(50) + 50 <= percent) random_number(value, 4, RealOf<T>(1));
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
            CUDA(cusparseCreateCoo(&descriptor, plain.rows, plain.cols, nnz, offsets.device, indices.device,
                                     values.device, INDEX<I>, base, type));
        else
            CUDA((by_columns ? cusparseCreateCsc : cusparseCreateCsr)(
                &descriptor, plain.rows, plain.cols, nnz, offsets.device, indices.device, values.device, INDEX<I>,
                INDEX<I>, base, type));
    }
    ~Stored() { CUDA(cusparseDestroySpMat(descriptor)); }
};
