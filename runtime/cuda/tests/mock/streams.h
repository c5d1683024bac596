// Streams and events. Included within `extern "C"`.
#pragma once
#include "state.h"

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  auto *made = new MockStream();
  made->blocking = !(flags & 1);
  streams.insert(made);
  log("stream %s%s", flags & 1 ? "non-blocking" : "blocking", priority < 0 ? " urgent" : "");
  return *stream = made, kSuccess;
}
int cuStreamDestroy_v2(void *stream) {
  if (!streams.count((MockStream *)stream)) return kInvalidHandle;
  finish(((MockStream *)stream)->last);
  streams.erase((MockStream *)stream);
  return kSuccess;
}
int cuStreamSynchronize(void *handle) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  // The operations before the next one on the default stream.
  if (stream == &legacy) submit(handle, nullptr);
  finish(stream->last);
  return status();
}
int cuStreamQuery(void *handle) {
  MockStream *stream = stream_of(handle);
  if (!stream) return kInvalidHandle;
  if (stream->last == kNone || operations[stream->last].done) return status();
  if (endless) return kNotReady;
  // The first answer is "not over", the second one "over".
  finish(stream->last);
  return kNotReady;
}
int cuStreamWaitEvent(void *handle, void *event, unsigned) {
  MockStream *stream = stream_of(handle);
  if (!stream || !events.count((MockEvent *)event)) return kInvalidHandle;
  stream->waits.push_back(((MockEvent *)event)->at);
  return kSuccess;
}
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  return submit(stream, [=] { function(data); });
}
int cuEventCreate(void **event, unsigned flags) {
  auto *made = new MockEvent();
  made->flags = flags;
  events.insert(made);
  return *event = made, kSuccess;
}
int cuEventDestroy_v2(void *event) { return events.erase((MockEvent *)event) ? kSuccess : kInvalidHandle; }
int cuEventRecord(void *event, void *stream) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  int submitted = submit(stream, nullptr);
  if (submitted == kSuccess) ((MockEvent *)event)->at = operations.size() - 1;
  return submitted;
}
int cuEventSynchronize(void *event) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  finish(((MockEvent *)event)->at);
  return status();
}
int cuEventQuery(void *event) {
  if (!events.count((MockEvent *)event)) return kInvalidHandle;
  size_t at = ((MockEvent *)event)->at;
  if (at == kNone || operations[at].done) return status();
  finish(at);
  return kNotReady;
}
int cuEventElapsedTime(float *time, void *start, void *end) {
  if (!events.count((MockEvent *)start) || !events.count((MockEvent *)end)) return kInvalidHandle;
  return *time = 12.5f, kSuccess;
}
