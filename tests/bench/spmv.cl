__kernel void spmv(int rows, __global const int* starts, __global const int* columns,
                   __global const float* values, __global const float* x, __global float* y) {
    int row = get_global_id(0);
    if (row < rows) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}
