"""Launches a kernel with NVIDIA's binding of the driver API: one that gclang has compiled, or a source, which it compiles
with NVRTC."""

import ctypes
import sys

from cuda.bindings import driver, nvrtc

N = 256
BLOCK = 64


def done(result):
    """The values of a call. A call that fails ends the program."""
    error, *values = result
    if error != 0:
        sys.exit(f"smooth.py: {error.name}")
    return values[0] if len(values) == 1 else values


def compiled(path):
    """The code of a source."""
    with open(path, "rb") as file:
        program = done(nvrtc.nvrtcCreateProgram(file.read(), path.encode(), 0, [], []))
    options = [option.encode() for option in sys.argv[2:]]
    done(nvrtc.nvrtcCompileProgram(program, len(options), options))
    code = bytearray(done(nvrtc.nvrtcGetPTXSize(program)))
    done(nvrtc.nvrtcGetPTX(program, code))
    done(nvrtc.nvrtcDestroyProgram(program))
    return bytes(code)


def code_of(path):
    """The code in a file, or of the source in it."""
    if path.endswith(".cu"):
        return compiled(path)
    with open(path, "rb") as file:
        return file.read()


def main():
    done(driver.cuInit(0))
    device = done(driver.cuDeviceGet(0))
    context = done(driver.cuDevicePrimaryCtxRetain(device))
    done(driver.cuCtxSetCurrent(context))
    module = done(driver.cuModuleLoadData(code_of(sys.argv[1])))
    smooth = done(driver.cuModuleGetFunction(module, b"smooth"))
    stream = done(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))

    values = (ctypes.c_float * N)(*(i % 3 for i in range(N)))
    size = ctypes.sizeof(values)
    source, target = (done(driver.cuMemAlloc(size)) for _ in range(2))
    done(driver.cuMemcpyHtoD(source, ctypes.addressof(values), size))
    arguments = ((source, target, N), (None, None, ctypes.c_int))
    done(driver.cuLaunchKernel(smooth, N // BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, arguments, 0))
    done(driver.cuStreamSynchronize(stream))
    done(driver.cuMemcpyDtoH(ctypes.addressof(values), target, size))
    print("right" if all(mean == 1 for mean in values[1:63]) else "wrong")

    done(driver.cuMemFree(source))
    done(driver.cuMemFree(target))
    done(driver.cuModuleUnload(module))
    done(driver.cuDevicePrimaryCtxRelease(device))


main()
