// What NVML says of the device is what the runtime says.
//@ compile-flags: -lnvidia-ml

#include <nvml.h>

#include <cstdio>
#include <cstring>

#define CHECK(what)                                                                                                    \
  if (!(what)) {                                                                                                       \
    printf("not so: %s\n", #what);                                                                                     \
    return 1;                                                                                                          \
  }

int main() {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  CHECK(nvmlInit() == NVML_SUCCESS);
  unsigned count = 0, number = 7, clock = 0;
  CHECK(nvmlDeviceGetCount(&count) == NVML_SUCCESS && count == 1);
  nvmlDevice_t device = nullptr, other = nullptr;
  CHECK(nvmlDeviceGetHandleByIndex(0, &device) == NVML_SUCCESS && device);
  CHECK(nvmlDeviceGetHandleByIndex(1, &other) == NVML_ERROR_INVALID_ARGUMENT && !other);
  CHECK(nvmlDeviceGetIndex(device, &number) == NVML_SUCCESS && number == 0);

  char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  CHECK(nvmlDeviceGetName(device, text, sizeof text) == NVML_SUCCESS);
  CHECK(std::strcmp(text, properties.name) == 0);
  CHECK(nvmlDeviceGetName(device, text, 2) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvmlDeviceGetName(nullptr, text, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlSystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS && text[0]);

  // Handles by what the device is called.
  CHECK(nvmlDeviceGetUUID(device, text, sizeof text) == NVML_SUCCESS && std::strlen(text) == 40);
  CHECK(nvmlDeviceGetHandleByUUID(text, &other) == NVML_SUCCESS && other == device);
  CHECK(nvmlDeviceGetHandleByUUID("GPU-0", &other) == NVML_ERROR_NOT_FOUND);
  CHECK(cudaDeviceGetPCIBusId(text, sizeof text, 0) == cudaSuccess);
  CHECK(nvmlDeviceGetHandleByPciBusId(text, &other) == NVML_SUCCESS && other == device);
  nvmlPciInfo_t pci;
  CHECK(nvmlDeviceGetPciInfo(device, &pci) == NVML_SUCCESS && std::strcmp(pci.busIdLegacy, text) == 0);
  CHECK(nvmlDeviceGetHandleByPciBusId(pci.busId, &other) == NVML_SUCCESS && other == device);

  nvmlMemory_t memory;
  CHECK(nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS);
  CHECK(memory.total == properties.totalGlobalMem && memory.used == memory.total - memory.free);
  CHECK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &clock) == NVML_SUCCESS && clock > 0);
  CHECK(nvmlDeviceGetClockInfo(device, (nvmlClockType_t)4, &clock) == NVML_ERROR_INVALID_ARGUMENT);
  int major, minor;
  CHECK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == NVML_SUCCESS);
  CHECK(major == properties.major && minor == properties.minor);

  // What no device of gpurace knows.
  CHECK(nvmlDeviceGetPowerUsage(device, &number) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(std::strcmp(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported") == 0);
  CHECK(nvmlShutdown() == NVML_SUCCESS);
  return 0;
}
