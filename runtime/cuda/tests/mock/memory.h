// Memory: allocations, memory of the host, reserved addresses, fills and copies. Included within
// `extern "C"`.
#pragma once
#include "state.h"

int cuMemGetInfo_v2(size_t *free, size_t *all) { return *free = total() - used, *all = total(), kSuccess; }
int cuMemAlloc_v2(Address *address, size_t size) {
  if (!take(size)) return kOutOfMemory;
  *address = (Address)aligned_alloc(512, (size + 511) / 512 * 512);
  allocated[*address] = size;
  return kSuccess;
}
int cuMemFree_v2(Address address) {
  if (!allocated.count(address)) return kInvalidValue;
  used -= allocated[address];
  allocated.erase(address);
  free((void *)address);
  return kSuccess;
}
int cuMemAllocManaged(Address *address, size_t size, unsigned flags) {
  return flags == 1 ? cuMemAlloc_v2(address, size) : (int)kInvalidValue;
}
int cuMemHostAlloc(void **host, size_t size, unsigned) {
  *host = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  return locked[(Address)*host] = size, kSuccess;
}
int cuMemFreeHost(void *host) { return locked.erase((Address)host), free(host), kSuccess; }
int cuMemHostRegister_v2(void *host, size_t size, unsigned) {
  if (!size) return kInvalidValue;
  // Each page is locked at most once.
  Address start = (Address)host / kPage, end = ((Address)host + size - 1) / kPage;
  for (auto &[at, bytes] : registered)
    if (start <= (at + bytes - 1) / kPage && at / kPage <= end) return kAlreadyRegistered;
  return registered[(Address)host] = size, kSuccess;
}
int cuMemHostUnregister(void *host) { return registered.erase((Address)host) ? kSuccess : kNotRegistered; }
int cuMemHostGetDevicePointer_v2(Address *device, void *host, unsigned) {
  return *device = (Address)host, kSuccess;
}

// True if some of these bytes are registered and others are not: the driver refuses to copy them.
static bool is_in_part_registered(Address at, size_t size) {
  size_t locked = 0;
  for (auto &[start, bytes] : registered) {
    Address from = start > at ? start : at, to = start + bytes < at + size ? start + bytes : at + size;
    if (from < to) locked += to - from;
  }
  return locked && locked != size;
}

// Fills rows; a fill of one dimension has one row.
static int fill(Address to, size_t pitch, unsigned value, size_t element, size_t width, size_t rows,
                void *stream) {
  log("fill %zu", width * element * rows);
  return submit(stream, [=] {
    for (size_t row = 0; row < rows; row++)
      for (size_t i = 0; i < width; i++) memcpy((char *)to + row * pitch + i * element, &value, element);
  });
}
int cuMemsetD8Async(Address to, unsigned char value, size_t n, void *stream) {
  return fill(to, n, value, 1, n, 1, stream);
}
int cuMemsetD16Async(Address to, unsigned short value, size_t n, void *stream) {
  return fill(to, n, value, 2, n, 1, stream);
}
int cuMemsetD32Async(Address to, unsigned value, size_t n, void *stream) {
  return fill(to, n, value, 4, n, 1, stream);
}
int cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t rows,
                      void *stream) {
  return fill(to, pitch, value, 1, width, rows, stream);
}
int cuMemsetD2D16Async(Address to, size_t pitch, unsigned short value, size_t width, size_t rows,
                       void *stream) {
  return fill(to, pitch, value, 2, width, rows, stream);
}
int cuMemsetD2D32Async(Address to, size_t pitch, unsigned value, size_t width, size_t rows, void *stream) {
  return fill(to, pitch, value, 4, width, rows, stream);
}
int cuMemcpyAsync(Address to, Address from, size_t size, void *stream) {
  log("copy %zu", size);
  if (is_in_part_registered(to, size) || is_in_part_registered(from, size)) return kInvalidValue;
  return submit(stream, [=] { memmove((void *)to, (void *)from, size); });
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t size, void *stream) {
  return cuMemcpyAsync(to, (Address)from, size, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t size, void *stream) {
  return cuMemcpyAsync((Address)to, from, size, stream);
}

int cuMemGetAllocationGranularity(size_t *granularity, const void *, int) {
  // A virtual machine may be unable to map memory.
  if (getenv("MOCK_UNMAPPED")) return kNotSupported;
  return *granularity = kGranularity, kSuccess;
}
int cuMemAddressReserve(Address *address, size_t size, size_t, Address, unsigned long long) {
  if (!size || size % kGranularity) return kInvalidValue;
  void *got =
      mmap(nullptr, size + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return kOutOfMemory;
  // The addresses before and behind stay reserved.
  *address = ((Address)got + kGranularity - 1) / kGranularity * kGranularity;
  return kSuccess;
}
int cuMemAddressFree(Address address, size_t size) {
  return munmap((void *)address, size) ? kInvalidValue : kSuccess;
}
int cuMemCreate(Address *handle, size_t size, const void *, unsigned long long) {
  if (!size || size % kGranularity) return kInvalidValue;
  if (!take(size)) return kOutOfMemory;
  physical[ *handle = next_handle++] = size;
  return kSuccess;
}
int cuMemMap(Address address, size_t size, size_t offset, Address handle, unsigned long long flags) {
  if (offset || flags || address % kGranularity) return kInvalidValue;
  if (physical[handle] != size || mapped.count(address)) return kInvalidValue;
  mapped[address] = size;
  return mprotect((void *)address, size, PROT_READ | PROT_WRITE) ? kInvalidValue : kSuccess;
}
int cuMemUnmap(Address address, size_t size) {
  if (!mapped.count(address) || mapped[address] != size) return kInvalidValue;
  log("unmap %zu", size);
  used -= size;
  mapped.erase(address);
  return mprotect((void *)address, size, PROT_NONE) ? kInvalidValue : kSuccess;
}
int cuMemRelease(Address) { return kSuccess; }
int cuMemSetAccess(Address, size_t, const void *, size_t) { return kSuccess; }
