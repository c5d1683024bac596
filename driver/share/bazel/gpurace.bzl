"""Rules for CUDA programs that gpurace checks on the host. They need `gclang++` on the PATH of Bazel's actions.

The rules use nothing but Bazel itself, so they work with and without modules.
"""

_FLAGS = ["-fsanitize=gpurace", "-fgpurace-exec=cpu"]
_STATIC = ("a", "lo", "o")

def _program(ctx, out):
    libraries = [file for file in ctx.files.deps if file.extension in _STATIC]
    arguments = ctx.actions.args()
    arguments.add_all(_FLAGS)
    arguments.add_all(ctx.attr.copts)
    arguments.add_all(ctx.files.srcs)
    arguments.add_all(libraries)
    arguments.add_all(ctx.attr.linkopts)
    arguments.add("-o", out)
    ctx.actions.run_shell(
        command = 'exec gclang++ "$@"',
        arguments = [arguments],
        inputs = ctx.files.srcs + ctx.files.hdrs + libraries,
        outputs = [out],
        mnemonic = "Gpurace",
        progress_message = "Compiling %s with gpurace" % ctx.label,
        use_default_shell_env = True,
    )

def _runfiles(ctx, more):
    # A report shows the sources.
    return ctx.runfiles(ctx.files.data + ctx.files.srcs + ctx.files.hdrs + more)

def _binary(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    _program(ctx, out)
    return [DefaultInfo(executable = out, runfiles = _runfiles(ctx, []))]

def _test(ctx):
    program = ctx.actions.declare_file(ctx.label.name + ".checked")
    _program(ctx, program)

    # Bazel keeps what a test writes into this folder. A name has the number of the process, since tests may start others.
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, is_executable = True, content = """#!/bin/sh
report="json=$TEST_UNDECLARED_OUTPUTS_DIR/gpurace.%p.json"
export GPURACE_OPTIONS="$report${GPURACE_OPTIONS:+:$GPURACE_OPTIONS}"
exec "$TEST_SRCDIR/$TEST_WORKSPACE/PROGRAM" "$@"
""".replace("PROGRAM", program.short_path))
    return [DefaultInfo(executable = script, runfiles = _runfiles(ctx, [program]))]

_ATTRIBUTES = {
    "srcs": attr.label_list(allow_files = [".cu", ".cpp", ".cc", ".c"], mandatory = True, doc = "the sources"),
    "hdrs": attr.label_list(allow_files = True, doc = "headers that the sources include"),
    "deps": attr.label_list(allow_files = True, doc = "static libraries to link: of `cc_library`, or files"),
    "data": attr.label_list(allow_files = True, doc = "files that the program reads"),
    "copts": attr.string_list(doc = "arguments for compiling"),
    "linkopts": attr.string_list(doc = "arguments for linking"),
}

gpurace_binary = rule(_binary, attrs = _ATTRIBUTES, executable = True, doc = "A checked CUDA program.")
gpurace_test = rule(_test, attrs = _ATTRIBUTES, test = True, doc = "A test that fails if it fails by itself or races.")
