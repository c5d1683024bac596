// The state of the mock driver: its memory, and the operations that it has not run yet.
#pragma once
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// The device runtime itself.
#include "device.cpp"

using namespace gpurace;
using Address = unsigned long long;

namespace {

enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kInvalidClusterSize = 912,
};

void log(const char *format, ...) {
  const char *path = getenv("MOCK_LOG");
  FILE *file = path ? fopen(path, "a") : nullptr;
  if (!file) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

unsigned long long number(const char *name, unsigned long long otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

constexpr size_t kGranularity = 2 << 20;
unsigned long long used = 0;
bool faulted = false;
std::map<Address, size_t> allocated;
std::map<Address, size_t> physical, mapped;
// Page-locked memory of the program: registered by it, and allocated.
constexpr Address kPage = 4096;
std::map<Address, size_t> registered, locked;
Address next_handle = 1;

unsigned long long total() { return number("MOCK_MEMORY", 1ull << 30); }

bool take(size_t size) {
  if (used + size > total()) return false;
  used += size;
  return true;
}

// ---- order ----

struct Operation {
  std::function<void()> run;
  std::vector<size_t> after;
  bool done;
};
std::vector<Operation> operations;
constexpr size_t kNone = ~0ul;
// Launches never end.
const bool endless = getenv("MOCK_ENDLESS");

struct MockStream {
  bool blocking = true;
  size_t last = kNone;
  std::vector<size_t> waits;
};
MockStream legacy, own;
std::set<MockStream *> streams;
struct MockEvent {
  size_t at = kNone;
  unsigned flags;
};
std::set<MockEvent *> events;

void finish(size_t at) {
  if (at == kNone || operations[at].done) return;
  operations[at].done = true;
  for (size_t before : operations[at].after) finish(before);
  if (operations[at].run) operations[at].run();
  operations[at].run = nullptr;
}

void finish_all() {
  for (size_t at = 0; at < operations.size(); at++) finish(at);
  operations.clear();
  for (auto *stream : streams) stream->last = kNone, stream->waits.clear();
  legacy.last = own.last = kNone;
  // All records were reached: their events say so by `kNone`.
  for (auto *event : events) event->at = kNone;
}

MockStream *stream_of(void *handle) {
  if (!handle || handle == (void *)1) return &legacy;
  if (handle == (void *)2) return &own;
  return streams.count((MockStream *)handle) ? (MockStream *)handle : nullptr;
}

// Submits an operation. Work of the default stream comes after that of all blocking streams, and
// their work after its.
int submit(void *handle, std::function<void()> run) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (faulted) return kIllegalAddress;
  Operation operation = {std::move(run), std::move(stream->waits), false};
  stream->waits.clear();
  operation.after.push_back(stream->last);
  if (stream == &legacy) {
    operation.after.push_back(own.last);
    for (auto *other : streams)
      if (other->blocking) operation.after.push_back(other->last);
  } else if (stream->blocking) {
    operation.after.push_back(legacy.last);
  }
  stream->last = operations.size();
  operations.push_back(std::move(operation));
  return kSuccess;
}

int status() { return faulted ? kIllegalAddress : kSuccess; }

} // namespace
