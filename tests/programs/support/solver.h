// What the test programs of cuSOLVER share: matrices of random numbers in columns, and the functions of each type.
#pragma once
#include <cmath>
#include <vector>

#include <cusolverDn.h>

#include "check.h"
#include "numbers.h"

// The address of a buffer, as functions of cuSOLVER take it.
template <class T>
typename TypeOf<T>::Device* raw(Buffer<T>& buffer) { return reinterpret_cast<typename TypeOf<T>::Device*>(buffer.device); }

// Names the functions of the four types as one overloaded function.
#define FUNCTIONS(name, s, d, c, z)                                                           \
    template <class... Arguments>                                                             \
    cusolverStatus_t name(float, Arguments... arguments) { return cusolverDnS##s(arguments...); } \
    template <class... Arguments>                                                             \
    cusolverStatus_t name(double, Arguments... arguments) { return cusolverDnD##d(arguments...); } \
    template <class... Arguments>                                                             \
    cusolverStatus_t name(Complex, Arguments... arguments) { return cusolverDnC##c(arguments...); } \
    template <class... Arguments>                                                             \
    cusolverStatus_t name(DoubleComplex, Arguments... arguments) { return cusolverDnZ##z(arguments...); }

// A matrix in columns.
template <class T>
struct Plain {
    int rows, cols;
    std::vector<T> values;

    Plain(int m, int n) : rows(m), cols(n), values(size_t(m) * n) {}
    T& at(int row, int col) { return values[size_t(col) * rows + row]; }

    static Plain random(int m, int n) {
        Plain made(m, n);
        for (T& value : made.values) random_number(value, 100, RealOf<T>(100));
        return made;
    }
    // Hermitian and positive definite.
    static Plain positive(int n) {
        Plain half = random(n, n), made = half.times(half.adjoint());
        for (int i = 0; i < n; i++) made.at(i, i) += T(1);
        return made;
    }
    // With these numbers on the diagonal.
    template <class R>
    static Plain diagonal(int m, int n, Buffer<R>& numbers) {
        Plain made(m, n);
        for (int i = 0; i < m && i < n; i++) made.at(i, i) = T(numbers[i]);
        return made;
    }
    Plain adjoint() {
        Plain made(cols, rows);
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < rows; i++) made.at(j, i) = conjugate(at(i, j));
        return made;
    }
    Plain times(Plain other) {
        Plain made(rows, other.cols);
        for (int j = 0; j < other.cols; j++)
            for (int k = 0; k < cols; k++)
                for (int i = 0; i < rows; i++) made.at(i, j) += at(i, k) * other.at(k, j);
        return made;
    }
    // What is on and above the diagonal, in as many rows.
    Plain upper(int m) {
        Plain made(m, cols);
        for (int j = 0; j < cols; j++)
            for (int i = 0; i <= j && i < m; i++) made.at(i, j) = at(i, j);
        return made;
    }
    bool near(Plain other) {
        if (rows != other.rows || cols != other.cols) return false;
        for (size_t i = 0; i < values.size(); i++)
            if (!(std::abs(values[i] - other.values[i]) < 1e-3)) return false;
        return true;
    }
    bool orthonormal() {
        Plain one(cols, cols);
        for (int i = 0; i < cols; i++) one.at(i, i) = T(1);
        return adjoint().times(*this).near(one);
    }
};

// A matrix on the device, with space between its columns.
template <class T>
struct Matrix {
    int rows, cols, leading;
    Buffer<T> buffer;

    Matrix(int m, int n) : rows(m), cols(n), leading(m + 2), buffer(size_t(leading) * n) {}
    explicit Matrix(Plain<T> plain) : Matrix(plain.rows, plain.cols) {
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < rows; i++) buffer[size_t(j) * leading + i] = plain.at(i, j);
        buffer.upload();
    }
    typename TypeOf<T>::Device* device() { return raw(buffer); }
    Plain<T> plain() {
        Plain<T> made(rows, cols);
        buffer.download();
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < rows; i++) made.at(i, j) = buffer[size_t(j) * leading + i];
        return made;
    }
};

inline int number(Buffer<int>& buffer) {
    buffer.download();
    return buffer[0];
}
