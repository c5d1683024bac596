//! nvcc's arguments, one row each: what becomes of them, and why. docs/nvcc.md shows the table.

use super::Meaning::{
    self, Arch, Contraction, DefaultStream, Gencode, Joined, Language, Linker, Next, Nothing, Parts, Refused,
    Same, Separate, Werror, Words,
};

/// One argument of nvcc.
pub struct Row {
    /// Its names without dashes. One dash stands before a name of one letter. One or two stand before `x` and all
    /// other names. A name that begins with a dash here takes two only, since clang reads it as another option after
    /// one.
    pub names: &'static [&'static str],
    /// A value for the tests and the page; `None` if the argument takes none.
    pub sample: Option<&'static str>,
    pub meaning: Meaning,
    /// Why it becomes that.
    pub why: &'static str,
}

const fn row(names: &'static [&'static str], meaning: Meaning, why: &'static str) -> Row {
    Row { names, sample: None, meaning, why }
}

const fn valued(
    names: &'static [&'static str],
    sample: &'static str,
    meaning: Meaning,
    why: &'static str,
) -> Row {
    Row { names, sample: Some(sample), meaning, why }
}

const WHOLE: &str = "gpurace checks objects and programs: compile with `-c`, or to an executable";
const SCRIPT: &str = "hand a script to the linker: `-Xlinker -T,FILE`";
const NOT_RUN: &str = "this tool of nvcc is not run";
const CLANG: &str = "clang has it too";
const HOST: &str = "the host compiler is clang itself, whose warnings are not GCC's";
const NAME: &str = "clang's name for it";
const IEEE: &str = "arithmetic always follows IEEE 754";
const STEPS: &str = "about nvcc's own steps";
const WARNING: &str = "a warning of nvcc's own front end";
const WINDOWS: &str = "for Windows";

/// Makes the null stream the host thread's own. clang's driver takes such an option only for HIP, but the
/// compiler below it takes it for CUDA too. The headers need the macro.
pub const PER_THREAD: [&str; 3] =
    ["-Xclang", "-fgpu-default-stream=per-thread", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"];

/// Every argument that nvcc documents, and those that build files use beside them.
pub const TABLE: &[Row] = &[
    // Files and paths.
    valued(&["o", "output-file"], "app", Next("-o"), NAME),
    row(&["-objtemp", "objdir-as-tempdir"], Nothing, STEPS),
    valued(&["include", "pre-include"], "a.h", Next("-include"), NAME),
    valued(&["l", "library"], "m", Joined("-l"), NAME),
    valued(&["D", "define-macro"], "A=1", Joined("-D"), NAME),
    valued(&["U", "undefine-macro"], "A", Joined("-U"), NAME),
    valued(&["I", "include-path"], "inc", Joined("-I"), NAME),
    valued(&["isystem", "system-include"], "inc", Next("-isystem"), NAME),
    valued(&["L", "library-path"], "lib", Joined("-L"), NAME),
    valued(&["-odir", "output-directory"], "out", Refused("`-o FILE` names the output"), ""),
    valued(&["MF", "dependency-output"], "a.d", Next("-MF"), NAME),
    row(&["MP", "generate-dependency-targets"], Words(&["-MP"]), NAME),
    valued(&["MT", "dependency-target-name"], "a.o", Next("-MT"), NAME),
    valued(&["ccbin", "compiler-bindir"], "g++", Nothing, "the host compiler is clang itself"),
    row(&["allow-unsupported-compiler"], Nothing, "the host compiler is clang itself"),
    valued(&["arbin", "archiver-binary"], "ar", Nothing, NOT_RUN),
    valued(&["cudart"], "static", Nothing, "gclang links gpurace's runtime"),
    valued(&["cudadevrt"], "none", Nothing, "gclang links gpurace's runtime"),
    valued(&["-ldir", "libdevice-directory"], "dir", Nothing, "the toolkit's is used"),
    valued(&["target-dir", "target-directory"], "x86_64-linux", Nothing, "the host is x86-64 Linux"),
    // What to make.
    row(&["-link"], Nothing, "clang does this without an option"),
    row(&["lib"], Words(&["--lib"]), "makes an archive of the objects"),
    row(&["dlink", "device-link"], Words(&["-dlink"]), "joins separately compiled device code"),
    row(&["dc", "device-c"], Words(&["-c", "-fgpu-rdc"]), NAME),
    row(&["dw", "device-w"], Words(&["-c"]), NAME),
    row(&["c", "compile"], Words(&["-c"]), CLANG),
    row(&["ptx"], Words(&["--cuda-device-only", "-S"]), NAME),
    row(&["cubin", "fatbin"], Words(&["--cuda-device-only"]), "makes a file that `cuModuleLoad` takes"),
    row(&["optix-ir", "ltoir"], Refused(WHOLE), ""),
    row(&["cuda"], Refused("`-E` writes the preprocessed source"), ""),
    row(&["E", "preprocess"], Words(&["-E"]), CLANG),
    row(&["M", "generate-dependencies"], Words(&["-M"]), NAME),
    row(&["MM", "generate-nonsystem-dependencies"], Words(&["-MM"]), NAME),
    row(&["MD", "generate-dependencies-with-compile"], Words(&["-MD"]), NAME),
    row(&["MMD", "generate-nonsystem-dependencies-with-compile"], Words(&["-MMD"]), NAME),
    row(&["run"], Refused("compile to an executable, and run it"), ""),
    valued(&["run-args"], "x", Refused("compile to an executable, and run it"), ""),
    // Language and code.
    row(&["pg", "profile"], Words(&["-pg"]), NAME),
    row(&["g", "debug"], Words(&["-g"]), NAME),
    row(&["G", "device-debug"], Words(&["-g"]), "debug info is for both sides"),
    row(&["lineinfo", "generate-line-info"], Words(&["-gline-tables-only"]), NAME),
    row(&["ewp", "extensible-whole-program"], Refused("use `-rdc=true`"), ""),
    row(&["no-compress"], Nothing, NOT_RUN),
    valued(&["compress-mode"], "size", Nothing, NOT_RUN),
    valued(&["-opt-info", "optimization-info"], "inline", Nothing, "`-Rpass=inline` is clang's"),
    valued(&["O", "optimize"], "2", Joined("-O"), NAME),
    valued(&["Ofc", "Ofast-compile"], "mid", Nothing, "`-O` chooses the level"),
    valued(&["dopt"], "on", Nothing, "`-O` chooses the level"),
    row(
        &["dlto", "dlink-time-opt", "gen-opt-lto", "-lto"],
        Nothing,
        "linked device code is always optimised as a whole",
    ),
    valued(&["ftemplate-backtrace-limit"], "9", Joined("-ftemplate-backtrace-limit="), NAME),
    valued(&["ftemplate-depth"], "99", Joined("-ftemplate-depth="), NAME),
    row(&["noeh", "no-exceptions"], Words(&["-fno-exceptions"]), NAME),
    row(&["shared"], Words(&["-shared"]), CLANG),
    valued(&["x"], "cu", Language, NAME),
    valued(&["std"], "c++17", Joined("-std="), CLANG),
    row(&["nohdinitlist", "no-host-device-initializer-list"], Nothing, "they stay usable in device code"),
    row(
        &["expt-relaxed-constexpr"],
        Words(&["-D__CUDACC_RELAXED_CONSTEXPR__=1"]),
        "clang always does this; programs test the macro",
    ),
    row(
        &["extended-lambda", "expt-extended-lambda"],
        Words(&["-D__CUDACC_EXTENDED_LAMBDA__=1"]),
        "clang always does this; programs test the macro",
    ),
    valued(&["m", "machine"], "64", Joined("-m"), NAME),
    row(&["m64"], Words(&["-m64"]), CLANG),
    valued(&["hls", "host-linker-script"], "gen-lcs", Refused(SCRIPT), ""),
    row(&["aug-hls", "augment-host-linker-script"], Refused(SCRIPT), ""),
    row(&["r", "host-relocatable-link"], Words(&["-r"]), NAME),
    valued(&["frandom-seed"], "7", Joined("-frandom-seed="), CLANG),
    // Arguments for other tools.
    valued(&["Xcompiler", "compiler-options"], "-fPIC,-Wall,-Werror", Parts, HOST),
    valued(&["Xlinker", "linker-options"], "-rpath,/x", Linker, NAME),
    valued(&["Xarchive", "archive-options"], "-q", Nothing, NOT_RUN),
    valued(&["Xptxas", "ptxas-options"], "-v", Nothing, NOT_RUN),
    valued(&["Xnvlink", "nvlink-options"], "-v", Nothing, NOT_RUN),
    valued(&["Xfatbin", "fatbin-options"], "-compress-all", Nothing, NOT_RUN),
    valued(&["Xcudafe", "Xnvvm"], "--display_error_number", Nothing, NOT_RUN),
    row(
        &["forward-unknown-to-host-compiler", "forward-unknown-opts", "forward-unknown-to-host-linker"],
        Nothing,
        "clang reads all arguments anyway",
    ),
    // nvcc itself.
    valued(&["static-global-template-stub"], "true", Nothing, STEPS),
    valued(
        &["device-entity-has-hidden-visibility"],
        "true",
        Nothing,
        "device code is in an image of its own",
    ),
    row(&["noprof", "dont-use-profile"], Nothing, STEPS),
    valued(&["t", "threads"], "4", Nothing, STEPS),
    valued(&["split-compile", "split-compile-extended"], "4", Nothing, STEPS),
    row(&["jobserver"], Nothing, STEPS),
    row(&["dryrun"], Words(&["-###"]), NAME),
    row(&["v", "verbose"], Words(&["-v"]), NAME),
    row(&["keep"], Words(&["-save-temps"]), NAME),
    valued(&["keep-dir"], "dir", Nothing, "`-save-temps=obj` keeps them beside the output"),
    row(&["save-temps"], Words(&["-save-temps"]), CLANG),
    row(&["clean", "clean-targets"], Refused("remove the outputs"), ""),
    valued(&["-time"], "times.csv", Nothing, STEPS),
    valued(&["fdevice-time-trace"], "trace.json", Nothing, STEPS),
    row(&["use-local-env"], Nothing, WINDOWS),
    valued(&["idp", "input-drive-prefix"], "/c", Nothing, WINDOWS),
    valued(&["ddp", "dependency-drive-prefix"], "/c", Nothing, WINDOWS),
    valued(&["dp", "drive-prefix"], "/c", Nothing, WINDOWS),
    row(&["no-align-double"], Nothing, "for 32-bit hosts"),
    row(
        &["nodlink", "no-device-link"],
        Refused("leave it out: gclang joins device code whenever it links"),
        "",
    ),
    valued(&["fgpu-default-stream", "default-stream"], "per-thread", DefaultStream, "clang's words for it"),
    valued(&["optf", "options-file"], "FILE", Same, "gclang reads the file"),
    row(&["V", "version"], Words(&["--version"]), NAME),
    row(&["help"], Words(&["--help"]), CLANG),
    // GPU code.
    valued(
        &["arch", "gpu-architecture"],
        "sm_100",
        Arch,
        "the executor runs the code for the first architecture; `native` and `all` choose the default",
    ),
    valued(&["code", "gpu-code"], "sm_90,compute_90", Nothing, "`-arch` chooses the architecture"),
    valued(&["gencode", "generate-code"], "arch=compute_90,code=[sm_90,compute_90]", Gencode, NAME),
    valued(&["rdc", "relocatable-device-code"], "true", Separate, NAME),
    valued(&["-entries"], "f", Nothing, "all kernels are built"),
    valued(&["maxrregcount"], "32", Nothing, NOT_RUN),
    row(&["use_fast_math"], Nothing, IEEE),
    valued(&["ftz", "prec-div", "prec-sqrt"], "false", Nothing, IEEE),
    valued(&["fmad"], "false", Contraction, "else both join products with sums in device code"),
    row(&["extra-device-vectorization"], Nothing, "the executor runs on the host's processor"),
    row(
        &["code-ls", "list-gpu-code", "arch-ls", "list-gpu-arch"],
        Refused("`clang --target=nvptx64 --print-supported-cpus` lists them"),
        "",
    ),
    // Diagnostics.
    row(&["w", "disable-warnings"], Words(&["-w"]), NAME),
    row(&["src-in-ptx", "source-in-ptx"], Nothing, "gpurace's own reports show the source"),
    row(&["restrict"], Nothing, "no pointers are assumed to be distinct"),
    row(&["Wno-deprecated-gpu-targets"], Nothing, WARNING),
    row(&["Wno-deprecated-declarations"], Words(&["-Wno-deprecated-declarations"]), CLANG),
    row(&["Wreorder"], Words(&["-Wreorder"]), CLANG),
    row(&["Wdefault-stream-launch", "Wmissing-launch-bounds", "Wext-lambda-captures-this"], Nothing, WARNING),
    valued(&["Werror"], "all-warnings", Werror, "nvcc's other kinds are of its own front end"),
    row(&["err-no", "display-error-number", "no-display-error-number"], Nothing, WARNING),
    valued(&["diag-error", "diag-suppress", "diag-warn"], "20012", Nothing, WARNING),
    row(&["res-usage", "resource-usage"], Nothing, NOT_RUN),
    row(&["device-stack-protector"], Nothing, "device code has none on the executor"),
    row(&["brief-diag", "brief-diagnostics"], Nothing, WARNING),
    valued(&["qpp-config"], "x", Refused("the host compiler is clang"), ""),
    row(&["astoolspatch", "compile-as-tools-patch"], Refused("such a patch runs in NVIDIA's tools only"), ""),
];
