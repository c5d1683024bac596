// Surface functions. nvcc declares them, clang's CUDA headers do not. They move an element of 1, 2, 4, 8 or
// 16 bytes without conversion. `x` counts bytes, as in CUDA.
#ifndef GPURACE_SURFACES_H
#define GPURACE_SURFACES_H

namespace gpurace_surfaces {

// The registers for an element, by its size.
template <int Bytes> struct Element {
  unsigned int w[Bytes / 4];
};
template <> struct Element<1> {
  unsigned short w[1];
};
template <> struct Element<2> {
  unsigned short w[1];
};

// An access outside of the surface follows `mode`, which is part of the instruction.
#define GPURACE_BY_MODE(MOVE, GEOMETRY, PLACE)                                                               \
  switch (mode) {                                                                                            \
  case cudaBoundaryModeZero:                                                                                 \
    MOVE("zero", GEOMETRY, PLACE);                                                                           \
    break;                                                                                                   \
  case cudaBoundaryModeClamp:                                                                                \
    MOVE("clamp", GEOMETRY, PLACE);                                                                          \
    break;                                                                                                   \
  default:                                                                                                   \
    MOVE("trap", GEOMETRY, PLACE);                                                                           \
    break;                                                                                                   \
  }

#define GPURACE_AT [s] "l"(s), [a] "r"(a), [b] "r"(b), [c] "r"(c)

#define GPURACE_LOAD_1(MODE, GEOMETRY, PLACE)                                                                \
  asm volatile("suld.b." GEOMETRY ".b8." MODE " {%0}, [%[s], " PLACE "];"                                    \
               : "=h"(e.w[0])                                                                                \
               : GPURACE_AT                                                                                  \
               : "memory")
#define GPURACE_LOAD_2(MODE, GEOMETRY, PLACE)                                                                \
  asm volatile("suld.b." GEOMETRY ".b16." MODE " {%0}, [%[s], " PLACE "];"                                   \
               : "=h"(e.w[0])                                                                                \
               : GPURACE_AT                                                                                  \
               : "memory")
#define GPURACE_LOAD_4(MODE, GEOMETRY, PLACE)                                                                \
  asm volatile("suld.b." GEOMETRY ".b32." MODE " {%0}, [%[s], " PLACE "];"                                   \
               : "=r"(e.w[0])                                                                                \
               : GPURACE_AT                                                                                  \
               : "memory")
#define GPURACE_LOAD_8(MODE, GEOMETRY, PLACE)                                                                \
  asm volatile("suld.b." GEOMETRY ".v2.b32." MODE " {%0, %1}, [%[s], " PLACE "];"                            \
               : "=r"(e.w[0]), "=r"(e.w[1])                                                                  \
               : GPURACE_AT                                                                                  \
               : "memory")
#define GPURACE_LOAD_16(MODE, GEOMETRY, PLACE)                                                               \
  asm volatile("suld.b." GEOMETRY ".v4.b32." MODE " {%0, %1, %2, %3}, [%[s], " PLACE "];"                    \
               : "=r"(e.w[0]), "=r"(e.w[1]), "=r"(e.w[2]), "=r"(e.w[3])                                      \
               : GPURACE_AT                                                                                  \
               : "memory")

#define GPURACE_STORE_1(MODE, GEOMETRY, PLACE)                                                               \
  asm volatile("sust.b." GEOMETRY ".b8." MODE " [%[s], " PLACE "], {%0};" ::"h"(e.w[0]), GPURACE_AT          \
               : "memory")
#define GPURACE_STORE_2(MODE, GEOMETRY, PLACE)                                                               \
  asm volatile("sust.b." GEOMETRY ".b16." MODE " [%[s], " PLACE "], {%0};" ::"h"(e.w[0]), GPURACE_AT         \
               : "memory")
#define GPURACE_STORE_4(MODE, GEOMETRY, PLACE)                                                               \
  asm volatile("sust.b." GEOMETRY ".b32." MODE " [%[s], " PLACE "], {%0};" ::"r"(e.w[0]), GPURACE_AT         \
               : "memory")
#define GPURACE_STORE_8(MODE, GEOMETRY, PLACE)                                                               \
  asm volatile("sust.b." GEOMETRY ".v2.b32." MODE " [%[s], " PLACE "], {%0, %1};" ::"r"(e.w[0]),             \
               "r"(e.w[1]), GPURACE_AT                                                                       \
               : "memory")
#define GPURACE_STORE_16(MODE, GEOMETRY, PLACE)                                                              \
  asm volatile("sust.b." GEOMETRY ".v4.b32." MODE " [%[s], " PLACE "], {%0, %1, %2, %3};" ::"r"(e.w[0]),     \
               "r"(e.w[1]), "r"(e.w[2]), "r"(e.w[3]), GPURACE_AT                                             \
               : "memory")

#define GPURACE_MOVES(BYTES, GEOMETRY, PLACE)                                                                \
  static __device__ inline void load(Element<BYTES> &e, cudaSurfaceObject_t s, int a, int b, int c,          \
                                     cudaSurfaceBoundaryMode mode) {                                         \
    GPURACE_BY_MODE(GPURACE_LOAD_##BYTES, GEOMETRY, PLACE)                                                   \
  }                                                                                                          \
  static __device__ inline void store(const Element<BYTES> &e, cudaSurfaceObject_t s, int a, int b, int c,   \
                                      cudaSurfaceBoundaryMode mode) {                                        \
    GPURACE_BY_MODE(GPURACE_STORE_##BYTES, GEOMETRY, PLACE)                                                  \
  }

// PLACE has the coordinates a, b and c in PTX's order: the layer comes first, and three are padded to four.
#define GPURACE_SURFACE(NAME, GEOMETRY, PLACE)                                                               \
  struct NAME {                                                                                              \
    GPURACE_MOVES(1, GEOMETRY, PLACE)                                                                        \
    GPURACE_MOVES(2, GEOMETRY, PLACE)                                                                        \
    GPURACE_MOVES(4, GEOMETRY, PLACE)                                                                        \
    GPURACE_MOVES(8, GEOMETRY, PLACE)                                                                        \
    GPURACE_MOVES(16, GEOMETRY, PLACE)                                                                       \
  };
GPURACE_SURFACE(OneD, "1d", "{%[a]}")
GPURACE_SURFACE(TwoD, "2d", "{%[a], %[b]}")
GPURACE_SURFACE(ThreeD, "3d", "{%[a], %[b], %[c], %[c]}")
GPURACE_SURFACE(OneDLayered, "a1d", "{%[b], %[a]}")
GPURACE_SURFACE(TwoDLayered, "a2d", "{%[c], %[a], %[b], %[b]}")

template <class Geometry, class T>
__device__ inline T read(cudaSurfaceObject_t s, int a, int b, int c, cudaSurfaceBoundaryMode mode) {
  Element<sizeof(T)> e;
  T value;
  Geometry::load(e, s, a, b, c, mode);
  // Little endian: a byte is the first of its register.
  __builtin_memcpy(&value, e.w, sizeof(T));
  return value;
}

template <class Geometry, class T>
__device__ inline void write(const T &value, cudaSurfaceObject_t s, int a, int b, int c,
                             cudaSurfaceBoundaryMode mode) {
  Element<sizeof(T)> e = {};
  __builtin_memcpy(e.w, &value, sizeof(T));
  Geometry::store(e, s, a, b, c, mode);
}

#undef GPURACE_SURFACE
#undef GPURACE_MOVES
#undef GPURACE_STORE_16
#undef GPURACE_STORE_8
#undef GPURACE_STORE_4
#undef GPURACE_STORE_2
#undef GPURACE_STORE_1
#undef GPURACE_LOAD_16
#undef GPURACE_LOAD_8
#undef GPURACE_LOAD_4
#undef GPURACE_LOAD_2
#undef GPURACE_LOAD_1
#undef GPURACE_AT
#undef GPURACE_BY_MODE

} // namespace gpurace_surfaces

// The functions of the CUDA C++ Programming Guide ("Surface Functions").
#define GPURACE_SURFACE_FUNCTIONS(NAME, GEOMETRY, PARAMETERS, A, B, C)                                       \
  template <class T>                                                                                         \
  static __device__ inline T NAME##read(cudaSurfaceObject_t s, GPURACE_LIST PARAMETERS,                      \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {               \
    return gpurace_surfaces::read<gpurace_surfaces::GEOMETRY, T>(s, A, B, C, mode);                          \
  }                                                                                                          \
  template <class T>                                                                                         \
  static __device__ inline void NAME##read(T *value, cudaSurfaceObject_t s, GPURACE_LIST PARAMETERS,         \
                                           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {            \
    *value = gpurace_surfaces::read<gpurace_surfaces::GEOMETRY, T>(s, A, B, C, mode);                        \
  }                                                                                                          \
  template <class T>                                                                                         \
  static __device__ inline void NAME##write(T value, cudaSurfaceObject_t s, GPURACE_LIST PARAMETERS,         \
                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {           \
    gpurace_surfaces::write<gpurace_surfaces::GEOMETRY, T>(value, s, A, B, C, mode);                         \
  }
#define GPURACE_LIST(...) __VA_ARGS__
GPURACE_SURFACE_FUNCTIONS(surf1D, OneD, (int x), x, 0, 0)
GPURACE_SURFACE_FUNCTIONS(surf2D, TwoD, (int x, int y), x, y, 0)
GPURACE_SURFACE_FUNCTIONS(surf3D, ThreeD, (int x, int y, int z), x, y, z)
GPURACE_SURFACE_FUNCTIONS(surf1DLayered, OneDLayered, (int x, int layer), x, layer, 0)
GPURACE_SURFACE_FUNCTIONS(surf2DLayered, TwoDLayered, (int x, int y, int layer), x, y, layer)
#undef GPURACE_LIST
#undef GPURACE_SURFACE_FUNCTIONS

#endif
