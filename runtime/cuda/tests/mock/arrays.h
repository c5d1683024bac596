// Arrays, textures, surfaces, and copies of three dimensions. Included within `extern "C"`.
#pragma once
#include "memory.h"

// CUDA_ARRAY3D_DESCRIPTOR
struct ArrayDescription {
  size_t width, height, depth;
  unsigned format, channels, flags;
};
static unsigned bits_of(unsigned format) {
  switch (format) {
  case 1:
  case 8:
    return 8;
  case 2:
  case 9:
  case 16:
    return 16;
  case 3:
  case 10:
  case 32:
    return 32;
  default:
    return 0;
  }
}
// The format as a cudaChannelFormatDesc.
static void to_channels(int (&to)[5], unsigned format, unsigned channels) {
  for (unsigned n = 0; n < 4; n++) to[n] = n < channels ? (int)bits_of(format) : 0;
  to[4] = format >= 16 ? 2 : format < 8 ? 1 : 0;
}
struct MockArray {
  ArrayDescription is;
  char *rows_at;
  size_t row() const { return is.width * is.channels * bits_of(is.format) / 8; }
  size_t rows() const { return is.height ? is.height : 1; }
  size_t slices() const { return is.depth ? is.depth : 1; }
};
static std::set<MockArray *> arrays;
static std::set<u64> textures, surfaces;
int cuArray3DCreate_v2(void **array, const ArrayDescription *is) {
  if (!bits_of(is->format) || !is->width || (is->channels != 1 && is->channels != 2 && is->channels != 4))
    return kInvalidValue;
  auto *made = new MockArray{*is, nullptr};
  if (Executor::get()) {
    int format[5];
    to_channels(format, is->format, is->channels);
    made->rows_at = (char *)Executor::get()->array(format, {is->width, is->height, is->depth}, is->flags);
    if (!made->rows_at) return kOutOfMemory;
  } else {
    made->rows_at = (char *)calloc(made->row() * made->rows(), made->slices());
  }
  arrays.insert(made);
  log("array %zu %zu %zu format %u channels %u flags %u", is->width, is->height, is->depth, is->format,
      is->channels, is->flags);
  return *array = made, kSuccess;
}
int cuArrayDestroy(void *handle) {
  auto *array = (MockArray *)handle;
  if (!arrays.erase(array)) return kInvalidHandle;
  log("array gone");
  if (Executor::get())
    Executor::get()->free_array(array->rows_at);
  else
    free(array->rows_at);
  delete array;
  return kSuccess;
}
// CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC
struct Resource {
  unsigned type;
  struct {
    Address at;
    unsigned format, channels;
    size_t sizes[14];
  } of;
  unsigned flags;
};
static_assert(sizeof(Resource) == 144, "the driver's");
struct Sampling {
  unsigned modes[3], filter, flags, anisotropy, mipmap_filter;
  float levels[3], border[4];
  int reserved[12];
};
static int make_object(u64 *object, const Resource &resource, const Sampling *sampling) {
  bool is_array = resource.type == 0;
  if (is_array && !arrays.count((MockArray *)resource.of.at)) return kInvalidHandle;
  if (!is_array && (!sampling || !bits_of(resource.of.format))) return kInvalidValue;
  // The alignment of textures.
  if (!is_array && resource.of.at % 512) return kInvalidValue;
  static u64 next = 1;
  *object = next++;
  if (Executor::get()) {
    // In the form of the runtime API.
    struct {
      unsigned type;
      u64 words[7];
    } shown = {resource.type, {resource.of.at}};
    if (is_array) {
      shown.words[0] = (u64)((MockArray *)resource.of.at)->rows_at;
    } else {
      int format[5];
      to_channels(format, resource.of.format, resource.of.channels);
      memcpy((char *)shown.words + 8, format, sizeof format);
      memcpy((char *)shown.words + 32, resource.of.sizes, 24);
    }
    struct {
      unsigned modes[3], filter, as_float;
      int srgb;
      float border[4];
      int normalized;
      unsigned rest[7];
    } how = {};
    if (sampling) {
      memcpy(how.modes, sampling->modes, sizeof how.modes);
      memcpy(how.border, sampling->border, sizeof how.border);
      how.filter = sampling->filter, how.as_float = !(sampling->flags & 1),
      how.normalized = sampling->flags >> 1 & 1;
      how.srgb = sampling->flags >> 4 & 1;
    }
    *object = Executor::get()->object(&shown, sampling ? &how : nullptr);
    if (!*object) return kInvalidValue;
  }
  (sampling ? textures : surfaces).insert(*object);
  return kSuccess;
}
int cuTexObjectCreate(u64 *texture, const Resource *resource, const Sampling *sampling, const void *view) {
  if (view) return kInvalidValue;
  log("texture of %u format %u channels %u sizes %zu %zu %zu modes %u %u %u filter %u flags %u",
      resource->type, resource->type ? resource->of.format : 0, resource->type ? resource->of.channels : 0,
      resource->type ? resource->of.sizes[0] : 0, resource->type == 3 ? resource->of.sizes[1] : 0,
      resource->type == 3 ? resource->of.sizes[2] : 0, sampling->modes[0], sampling->modes[1],
      sampling->modes[2], sampling->filter, sampling->flags);
  return make_object(texture, *resource, sampling);
}
int cuSurfObjectCreate(u64 *surface, const Resource *resource) {
  if (resource->type != 0) return kInvalidValue;
  log("surface");
  return make_object(surface, *resource, nullptr);
}
int cuTexObjectDestroy(u64 texture) {
  if (!textures.erase(texture)) return kInvalidValue;
  return Executor::get() ? Executor::get()->free_object(texture, true) : kSuccess;
}
int cuSurfObjectDestroy(u64 surface) {
  if (!surfaces.erase(surface)) return kInvalidValue;
  return Executor::get() ? Executor::get()->free_object(surface, false) : kSuccess;
}

// CUDA_MEMCPY3D: each side is eleven words.
struct Side3 {
  size_t x, y, z, lod, type, host, device, array, reserved, pitch, height;
};
struct Copy3 {
  Side3 from, to;
  size_t width, height, depth;
};
// True for memory that the driver has allocated or locked.
static bool is_known(Address address) {
  for (auto *known : {&allocated, &mapped, &registered, &locked}) {
    auto behind = known->upper_bound(address);
    if (behind != known->begin() && address - std::prev(behind)->first < std::prev(behind)->second)
      return true;
  }
  return false;
}
int cuPointerGetAttribute(void *value, int attribute, Address address) {
  if (attribute != 2 || !is_known(address)) return kInvalidValue;
  return *(unsigned *)value = 2, kSuccess;
}
int cuMemcpy3DAsync_v2(const Copy3 *copy, void *stream) {
  auto is_right = [&](const Side3 &side) {
    // CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_HOST
    if ((unsigned)side.type == 4) return side.pitch >= copy->width && is_known(side.device);
    if ((unsigned)side.type == 1) return side.pitch >= copy->width && !is_known(side.host);
    if ((unsigned)side.type != 3 || !arrays.count((MockArray *)side.array)) return false;
    auto &array = *(MockArray *)side.array;
    return side.x + copy->width <= array.row() && side.y + copy->height <= array.rows() &&
           side.z + copy->depth <= array.slices();
  };
  if (!is_right(copy->from) || !is_right(copy->to)) return kInvalidValue;
  for (size_t row = 0; row < copy->height * copy->depth; row++) {
    auto is_split = [&](const Side3 &side) {
      size_t z = row / copy->height, y = row % copy->height;
      return !side.array &&
             is_in_part_registered((side.host ? side.host : side.device) + (z * side.height + y) * side.pitch,
                                   copy->width);
    };
    if (is_split(copy->from) || is_split(copy->to)) return kInvalidValue;
  }
  auto name = [](const Side3 &side) { return side.array ? "array" : "memory"; };
  log("copy rows %zu %zu %zu from %s to %s", copy->width, copy->height, copy->depth, name(copy->from),
      name(copy->to));
  return submit(stream, [copy = *copy] {
    auto at = [](const Side3 &side, size_t y, size_t z) {
      if (!side.array)
        return (char *)(side.host ? side.host : side.device) + (z * side.height + y) * side.pitch;
      auto &array = *(MockArray *)side.array;
      return array.rows_at + ((side.z + z) * array.rows() + side.y + y) * array.row() + side.x;
    };
    for (size_t z = 0; z < copy.depth; z++)
      for (size_t y = 0; y < copy.height; y++) memcpy(at(copy.to, y, z), at(copy.from, y, z), copy.width);
  });
}
