"""gpurace for Python: what was found in this process so far, what is expected, and a plugin of pytest.

Without a module that was built with `-fsanitize=gpurace`, all functions do nothing. `gpurace/findings.h` has the
same functions for C and C++, and says more of each.
"""

import contextlib
import ctypes
import os


_ON_FINDING = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_loaded = None
# The function that the runtime calls must stay alive.
_on_finding = None


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
            library.gpurace_enter_region.argtypes = [ctypes.c_char_p]
            library.gpurace_enter_region.restype = None
            library.gpurace_leave_region.restype = None
            library.gpurace_change_options.argtypes = [ctypes.c_char_p]
            library.gpurace_add_suppressions.argtypes = [ctypes.c_char_p]
            getattr(library, "__gpurace_host_benign").argtypes = [ctypes.c_void_p, ctypes.c_size_t]
            library.gpurace_begin_expecting.restype = None
            library.gpurace_end_expecting.restype = ctypes.c_size_t
            library.gpurace_call_on_finding.argtypes = [_ON_FINDING, ctypes.c_void_p]
            library.gpurace_call_on_finding.restype = None
            library.gpurace_write_report.restype = None
            return library
        except (OSError, AttributeError):
            continue
    return None


def _bytes(text):
    return text.encode("utf-8", "replace")


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
        library.gpurace_enter_region(_bytes(name))
    try:
        yield
    finally:
        if library is not None:
            library.gpurace_leave_region()


def set_options(options):
    """Changes options while the process runs, as in `GPURACE_OPTIONS`: `"kernels=solve*:every=4"`, or `"exitcode=0"`
    to leave the exit status to the process. Raises a ValueError if one is wrong or cannot change."""
    library = _runtime()
    if library is not None and library.gpurace_change_options(_bytes(options)) != 0:
        raise ValueError(f"gpurace: wrong options: {options}")


def suppress(lines):
    """Adds suppressions, as lines of a file of suppressions. They leave out what is found from now on. Raises a
    ValueError if a line is wrong."""
    library = _runtime()
    if library is not None and library.gpurace_add_suppressions(_bytes(lines)) != 0:
        raise ValueError(f"gpurace: wrong suppressions: {lines}")


def benign(address, size):
    """From here on, races on these bytes of memory that kernels reach are intended."""
    library = _runtime()
    if library is not None:
        getattr(library, "__gpurace_host_benign")(address, size)


@contextlib.contextmanager
def expect_race():
    """Races are expected within the `with` block: the report leaves them out, and the exit status does not count
    them. Raises an AssertionError if none was found. Wait for the device within the block."""
    library = _runtime()
    if library is not None:
        library.gpurace_begin_expecting()
    found = 0
    try:
        yield
    finally:
        if library is not None:
            found = library.gpurace_end_expecting()
    if library is not None and found == 0:
        raise AssertionError("gpurace: no race was found where one is expected")


def on_finding(function):
    """From here on, calls the function with the text of each new finding, in the thread that found it, when its
    function of CUDA returns. `None` ends the calls."""
    global _on_finding
    library = _runtime()
    if library is None:
        return
    call = _ON_FINDING() if function is None else _ON_FINDING(lambda text, _: function(text.decode("utf-8", "replace")))
    library.gpurace_call_on_finding(call, None)
    _on_finding = call


def flush():
    """Writes the report so far, as the end of the process will again."""
    library = _runtime()
    if library is not None:
        library.gpurace_write_report()
