// A part of gpurace's cusparse.h: enumerators, handles and descriptors.
#ifndef GPURACE_CUSPARSE_DESCRIPTORS_H
#define GPURACE_CUSPARSE_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cuComplex.h>
#include <driver_types.h>
#include <library_types.h>

#ifndef CUSPARSEAPI
#define CUSPARSEAPI
#endif

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VER_PATCH 2
#define CUSPARSE_VER_BUILD 0
#define CUSPARSE_VERSION (CUSPARSE_VER_MAJOR * 1000 + CUSPARSE_VER_MINOR * 100 + CUSPARSE_VER_PATCH)

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;

typedef enum { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 } cusparsePointerMode_t;

typedef enum { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 } cusparseAction_t;

typedef enum {
  CUSPARSE_MATRIX_TYPE_GENERAL = 0,
  CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
} cusparseMatrixType_t;

typedef enum { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 } cusparseFillMode_t;

typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 } cusparseDiagType_t;

typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;

typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;

typedef enum { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 } cusparseDirection_t;

typedef enum {
  CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0,
  CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1
} cusparseSolvePolicy_t;

typedef enum { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1 } cusparseCsr2CscAlg_t;

typedef enum {
  CUSPARSE_FORMAT_CSR = 1,
  CUSPARSE_FORMAT_CSC = 2,
  CUSPARSE_FORMAT_COO = 3,
  CUSPARSE_FORMAT_BLOCKED_ELL = 5,
  CUSPARSE_FORMAT_BSR = 6,
  CUSPARSE_FORMAT_SLICED_ELLPACK = 7
} cusparseFormat_t;

typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;

typedef enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;

typedef enum { CUSPARSE_SPMAT_FILL_MODE = 0, CUSPARSE_SPMAT_DIAG_TYPE = 1 } cusparseSpMatAttribute_t;

typedef enum {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG2 = 4,
  CUSPARSE_SPMV_SELL_ALG1 = 5
} cusparseSpMVAlg_t;

typedef enum {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_COO_ALG2 = 2,
  CUSPARSE_SPMM_COO_ALG3 = 3,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_COO_ALG4 = 5,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12,
  CUSPARSE_SPMM_BLOCKED_ELL_ALG1 = 13,
  CUSPARSE_SPMM_BSR_ALG1 = 14
} cusparseSpMMAlg_t;

typedef enum {
  CUSPARSE_SPGEMM_DEFAULT = 0,
  CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1,
  CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
  CUSPARSE_SPGEMM_ALG1 = 3,
  CUSPARSE_SPGEMM_ALG2 = 4,
  CUSPARSE_SPGEMM_ALG3 = 5
} cusparseSpGEMMAlg_t;

typedef enum { CUSPARSE_SPSV_ALG_DEFAULT = 0 } cusparseSpSVAlg_t;

typedef enum { CUSPARSE_SPSV_UPDATE_GENERAL = 0, CUSPARSE_SPSV_UPDATE_DIAGONAL = 1 } cusparseSpSVUpdate_t;

typedef enum { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;

typedef enum { CUSPARSE_SPSM_UPDATE_GENERAL = 0, CUSPARSE_SPSM_UPDATE_DIAGONAL = 1 } cusparseSpSMUpdate_t;

typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT = 0 } cusparseSDDMMAlg_t;

typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;

typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;

struct cusparseContext;
typedef struct cusparseContext *cusparseHandle_t;
struct cusparseMatDescr;
typedef struct cusparseMatDescr *cusparseMatDescr_t;
struct cusparseSpVecDescr;
typedef struct cusparseSpVecDescr *cusparseSpVecDescr_t;
struct cusparseDnVecDescr;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
struct cusparseSpMatDescr;
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
struct cusparseDnMatDescr;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;
struct cusparseSpSVDescr;
typedef struct cusparseSpSVDescr *cusparseSpSVDescr_t;
struct cusparseSpSMDescr;
typedef struct cusparseSpSMDescr *cusparseSpSMDescr_t;
struct cusparseSpGEMMDescr;
typedef struct cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;
typedef const struct cusparseSpVecDescr *cusparseConstSpVecDescr_t;
typedef const struct cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const struct cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const struct cusparseDnMatDescr *cusparseConstDnMatDescr_t;
struct csrilu02Info;
typedef struct csrilu02Info *csrilu02Info_t;

// Handles.

cusparseStatus_t CUSPARSEAPI cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t CUSPARSEAPI cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t CUSPARSEAPI cusparseGetVersion(cusparseHandle_t handle, int *version);
cusparseStatus_t CUSPARSEAPI cusparseGetProperty(libraryPropertyType type, int *value);
const char *CUSPARSEAPI cusparseGetErrorName(cusparseStatus_t status);
const char *CUSPARSEAPI cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t CUSPARSEAPI cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t CUSPARSEAPI cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream);
cusparseStatus_t CUSPARSEAPI cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);
cusparseStatus_t CUSPARSEAPI cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);

// Vectors and matrices.

// The functions of descriptors through which values may change, and of those through which they may not.
#define GPURACE_DESCRIPTORS(OF, CREATE, VOID)                                                                \
  cusparseStatus_t CUSPARSEAPI CREATE##SpVec(OF##SpVecDescr_t *x, int64_t size, int64_t nnz, VOID *indices,  \
                                             VOID *values, cusparseIndexType_t indexType,                    \
                                             cusparseIndexBase_t base, cudaDataType type);                   \
  cusparseStatus_t CUSPARSEAPI OF##SpVecGet(OF##SpVecDescr_t x, int64_t *size, int64_t *nnz, VOID **indices, \
                                            VOID **values, cusparseIndexType_t *indexType,                   \
                                            cusparseIndexBase_t *base, cudaDataType *type);                  \
  cusparseStatus_t CUSPARSEAPI CREATE##DnVec(OF##DnVecDescr_t *x, int64_t size, VOID *values,                \
                                             cudaDataType type);                                             \
  cusparseStatus_t CUSPARSEAPI OF##DnVecGet(OF##DnVecDescr_t x, int64_t *size, VOID **values,                \
                                            cudaDataType *type);                                             \
  cusparseStatus_t CUSPARSEAPI CREATE##DnMat(OF##DnMatDescr_t *a, int64_t rows, int64_t cols, int64_t ld,    \
                                             VOID *values, cudaDataType type, cusparseOrder_t order);        \
  cusparseStatus_t CUSPARSEAPI OF##DnMatGet(OF##DnMatDescr_t a, int64_t *rows, int64_t *cols, int64_t *ld,   \
                                            VOID **values, cudaDataType *type, cusparseOrder_t *order);      \
  cusparseStatus_t CUSPARSEAPI CREATE##Csr(OF##SpMatDescr_t *a, int64_t rows, int64_t cols, int64_t nnz,     \
                                           VOID *rowOffsets, VOID *colIndices, VOID *values,                 \
                                           cusparseIndexType_t offsetsType, cusparseIndexType_t indicesType, \
                                           cusparseIndexBase_t base, cudaDataType type);                     \
  cusparseStatus_t CUSPARSEAPI OF##CsrGet(                                                                   \
      OF##SpMatDescr_t a, int64_t *rows, int64_t *cols, int64_t *nnz, VOID **rowOffsets, VOID **colIndices,  \
      VOID **values, cusparseIndexType_t *offsetsType, cusparseIndexType_t *indicesType,                     \
      cusparseIndexBase_t *base, cudaDataType *type);                                                        \
  cusparseStatus_t CUSPARSEAPI CREATE##Csc(OF##SpMatDescr_t *a, int64_t rows, int64_t cols, int64_t nnz,     \
                                           VOID *colOffsets, VOID *rowIndices, VOID *values,                 \
                                           cusparseIndexType_t offsetsType, cusparseIndexType_t indicesType, \
                                           cusparseIndexBase_t base, cudaDataType type);                     \
  cusparseStatus_t CUSPARSEAPI OF##CscGet(                                                                   \
      OF##SpMatDescr_t a, int64_t *rows, int64_t *cols, int64_t *nnz, VOID **colOffsets, VOID **rowIndices,  \
      VOID **values, cusparseIndexType_t *offsetsType, cusparseIndexType_t *indicesType,                     \
      cusparseIndexBase_t *base, cudaDataType *type);                                                        \
  cusparseStatus_t CUSPARSEAPI CREATE##Coo(                                                                  \
      OF##SpMatDescr_t *a, int64_t rows, int64_t cols, int64_t nnz, VOID *rowIndices, VOID *colIndices,      \
      VOID *values, cusparseIndexType_t indexType, cusparseIndexBase_t base, cudaDataType type);             \
  cusparseStatus_t CUSPARSEAPI OF##CooGet(                                                                   \
      OF##SpMatDescr_t a, int64_t *rows, int64_t *cols, int64_t *nnz, VOID **rowIndices, VOID **colIndices,  \
      VOID **values, cusparseIndexType_t *indexType, cusparseIndexBase_t *base, cudaDataType *type);         \
  cusparseStatus_t CUSPARSEAPI OF##SpVecGetValues(OF##SpVecDescr_t a, VOID **values);                        \
  cusparseStatus_t CUSPARSEAPI OF##DnVecGetValues(OF##DnVecDescr_t a, VOID **values);                        \
  cusparseStatus_t CUSPARSEAPI OF##SpMatGetValues(OF##SpMatDescr_t a, VOID **values);                        \
  cusparseStatus_t CUSPARSEAPI OF##DnMatGetValues(OF##DnMatDescr_t a, VOID **values)

GPURACE_DESCRIPTORS(cusparse, cusparseCreate, void);
GPURACE_DESCRIPTORS(cusparseConst, cusparseCreateConst, const void);
#undef GPURACE_DESCRIPTORS

cusparseStatus_t CUSPARSEAPI cusparseSpVecSetValues(cusparseSpVecDescr_t a, void *values);
cusparseStatus_t CUSPARSEAPI cusparseDestroySpVec(cusparseConstSpVecDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseDnVecSetValues(cusparseDnVecDescr_t a, void *values);
cusparseStatus_t CUSPARSEAPI cusparseDestroyDnVec(cusparseConstDnVecDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSpMatSetValues(cusparseSpMatDescr_t a, void *values);
cusparseStatus_t CUSPARSEAPI cusparseDestroySpMat(cusparseConstSpMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseDnMatSetValues(cusparseDnMatDescr_t a, void *values);
cusparseStatus_t CUSPARSEAPI cusparseDestroyDnMat(cusparseConstDnMatDescr_t a);
cusparseStatus_t CUSPARSEAPI cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t x,
                                                       cusparseIndexBase_t *base);
cusparseStatus_t CUSPARSEAPI cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t a,
                                                       cusparseIndexBase_t *base);
cusparseStatus_t CUSPARSEAPI cusparseSpMatGetFormat(cusparseConstSpMatDescr_t a, cusparseFormat_t *format);
cusparseStatus_t CUSPARSEAPI cusparseSpMatGetSize(cusparseConstSpMatDescr_t a, int64_t *rows, int64_t *cols,
                                                  int64_t *nnz);
cusparseStatus_t CUSPARSEAPI cusparseSpMatSetAttribute(cusparseSpMatDescr_t a,
                                                       cusparseSpMatAttribute_t attribute, void *data,
                                                       size_t size);
cusparseStatus_t CUSPARSEAPI cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t a,
                                                       cusparseSpMatAttribute_t attribute, void *data,
                                                       size_t size);
cusparseStatus_t CUSPARSEAPI cusparseCsrSetPointers(cusparseSpMatDescr_t a, void *rowOffsets,
                                                    void *colIndices, void *values);
cusparseStatus_t CUSPARSEAPI cusparseCscSetPointers(cusparseSpMatDescr_t a, void *colOffsets,
                                                    void *rowIndices, void *values);
cusparseStatus_t CUSPARSEAPI cusparseCooSetPointers(cusparseSpMatDescr_t a, void *rowIndices,
                                                    void *colIndices, void *values);
cusparseStatus_t CUSPARSEAPI cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t a, int *count);
cusparseStatus_t CUSPARSEAPI cusparseCsrSetStridedBatch(cusparseSpMatDescr_t a, int count,
                                                        int64_t offsetsStride, int64_t columnsValuesStride);
cusparseStatus_t CUSPARSEAPI cusparseCooSetStridedBatch(cusparseSpMatDescr_t a, int count, int64_t stride);
cusparseStatus_t CUSPARSEAPI cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t a, int count, int64_t stride);
cusparseStatus_t CUSPARSEAPI cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t a, int *count,
                                                          int64_t *stride);

#if defined(__cplusplus)
}
#endif

#endif
