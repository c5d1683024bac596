// Part of cublas_api.h, which includes this file twice: for the functions with sizes of type `int`, and for
// their variants with 64-bit sizes. CUBLAS_INT is the type, CUBLAS_NAME makes the name.
#include "matrices.h"
#include "matrix_vector.h"
#include "products.h"
#include "vectors.h"
