"""gpurace for Python: what was found in this process so far, and a plugin of pytest."""

import contextlib
import ctypes
import os


_loaded = None


def _runtime():
    """The runtime library, if an extension module has loaded it. Loads nothing."""
    global _loaded
    # It is never unloaded.
    if _loaded is None:
        _loaded = _find_runtime()
    return _loaded


def _find_runtime():
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "libgpurace_rt.so" in line}
    except OSError:
        return None
    for path in paths:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            library.gpurace_recent_findings.restype = ctypes.c_size_t
            library.gpurace_recent_findings.argtypes = [ctypes.POINTER(ctypes.c_char_p)]
            library.gpurace_set_exitcode.argtypes = [ctypes.c_int]
            library.gpurace_enter_region.argtypes = [ctypes.c_char_p]
            library.gpurace_enter_region.restype = None
            library.gpurace_leave_region.restype = None
            return library
        except (OSError, AttributeError):
            continue
    return None


def is_loaded():
    """True if a module that was built with `-fsanitize=gpurace` is loaded."""
    return _runtime() is not None


def recent_findings():
    """The report of what was found in this process since the last call; empty if nothing was, or if no
    module that was built with `-fsanitize=gpurace` is loaded. Wait for the device first."""
    library = _runtime()
    if library is None:
        return ""
    text = ctypes.c_char_p()
    if library.gpurace_recent_findings(ctypes.byref(text)) == 0:
        return ""
    return (text.value or b"").decode("utf-8", "replace")


@contextlib.contextmanager
def region(name):
    """A named region: the report shows the launches of this thread within the `with` block by this name. Named
    regions nest."""
    library = _runtime()
    if library is not None:
        library.gpurace_enter_region(name.encode("utf-8", "replace"))
    try:
        yield
    finally:
        if library is not None:
            library.gpurace_leave_region()


def set_exitcode(status):
    """Sets the exit status of this process after a finding. Returns whether a runtime is loaded."""
    library = _runtime()
    if library is not None:
        library.gpurace_set_exitcode(status)
    return library is not None
