//! Facts about clang's own options: which take the next word as their value, and which stage they belong to.
//! Any other option is one word that every stage may see.

/// Options whose value is the next word if nothing is joined to them. A test asks clang about each of them.
const TAKES_NEXT_WORD: &str = "
    --CLASSPATH --analyzer-output --assert --bootclasspath --classpath --config --define-macro
    --dyld-prefix --encoding --extdirs --for-linker --force-link --imacros --include --include-directory
    --include-directory-after --include-prefix --include-with-prefix --include-with-prefix-after
    --include-with-prefix-before --language --library-directory --mhwdiv --no-system-header-prefix
    --output --param --prefix --print-file-name --print-prog-name --resource --serialize-diagnostics --std
    --sysroot --system-header-prefix --undefine-macro --vfsoverlay -A -B -D -F -G -I -L -MF -MJ -MQ -MT -T
    -U -Xanalyzer -Xassembler -Xclang -Xcuda-fatbinary -Xcuda-ptxas -Xlinker -Xoffload-linker
    -Xopenmp-target -Xpreprocessor -arch -b -ccc-gcc-name
    -ccc-install-dir -current_version -cxx-isystem -darwin-target-variant
    -darwin-target-variant-triple -dependency-dot -dependency-file -dsym-dir -dumpdir -e
    -fdebug-compilation-dir -fexperimental-openacc-macro-override -filelist -fmodules-user-build-path
    -framework -ftrapv-handler -gen-cdb-fragment-path -hlsl-entry -iapinotes-modules -idirafter
    -iframework -iframeworkwithsysroot -imacros -imultilib -include -include-pch -install_name -iprefix
    -iquote -isysroot -isystem -isystem-after -ivfsoverlay -iwithprefix -iwithprefixbefore -iwithsysroot
    -l -meabi -mllvm -mmlir -module-dependency-dir -mthread-model -o -object-file-name -resource-dir
    -rpath -serialize-diagnostics -stdlib++-isystem -target -u -undefined -validator-version -vfsoverlay
    -working-directory -x -z";

/// True if `word` is one of the words in `list`.
fn lists(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// True if `word` takes the next word as its value.
pub fn takes_next_word(word: &str) -> bool {
    lists(TAKES_NEXT_WORD, word) || word.starts_with("-Xarch_") || word.starts_with("-Xopenmp-target=")
}

/// True for options of the linker alone.
pub fn is_link_only(word: &str) -> bool {
    const WHOLE: &str = "
        --for-linker --force-link --library-directory --no-pie --pie --shared --static -T -Xlinker
        -Xoffload-linker -e -l -no-pie -nodefaultlibs -nolibc -nopie -nostartfiles -nostdlib -nostdlib++
        -pie -r -rdynamic -rpath -s -shared -shared-libasan -static -static-libasan -static-libgcc
        -static-libsan -static-libstdc++ -static-pie -u -z";
    lists(WHOLE, word)
        || ["-l", "-L", "-Wl", "-fuse-ld=", "--ld-path=", "--for-linker="]
            .iter()
            .any(|prefix| word.starts_with(prefix))
}

/// True for options that write dependency files.
pub fn is_dependency(word: &str) -> bool {
    const WHOLE: &str = "
        -MD -MMD -MP -MG -MV -MF -MT -MQ -MJ --write-dependencies --write-user-dependencies
        -gen-cdb-fragment-path";
    lists(WHOLE, word) || ["-MF", "-MT", "-MQ", "-MJ"].iter().any(|p| word.starts_with(p) && word.len() > 3)
}

/// True for options that choose the amount of debug info, `-g0` included.
pub fn chooses_debug_info(word: &str) -> bool {
    const WHOLE: &str = "
        -g -g0 -g1 -g2 -g3 -gmlt -glldb -gsce -gdbx -gcodeview -gfull -gused -gline-tables-only
        -gline-directives-only --debug";
    lists(WHOLE, word) || word.starts_with("-ggdb") || word.starts_with("-gdwarf")
}

/// True for those of them that ask for variables and types, for a debugger.
pub fn chooses_full_debug_info(word: &str) -> bool {
    const LESS: &str = "-g0 -g1 -gmlt -gline-tables-only -gline-directives-only -ggdb0 -ggdb1";
    chooses_debug_info(word) && !lists(LESS, word)
}

/// True for options that make clang write no host object and not link. clang alone runs such a command, and
/// also a compilation of one side.
pub fn leaves_no_object(word: &str) -> bool {
    const ALL: &str = "
        -E -M -MM -S -fsyntax-only -emit-llvm -emit-ast --analyze --precompile -extract-api -verify-pch
        -module-file-info -rewrite-objc -rewrite-legacy-objc -emit-interface-stubs --preprocess --assemble
        --dependencies --user-dependencies -fdriver-only -print-supported-cpus --print-supported-cpus
        --cuda-device-only --cuda-host-only --offload-device-only --offload-host-only -ccc-print-phases
        -ccc-print-bindings";
    lists(ALL, word)
}

/// True if clang compiles a file with this name. It hands other files to the linker.
pub fn is_source(name: &str) -> bool {
    const EXTENSIONS: &str = "
        c i ii cc cp cpp CPP c++ C++ cxx CXX C m mi mm mii M s S asm ll bc h H hh hpp hxx cl clcpp cppm
        ccm cxxm c++m ixx hip cu cui";
    name.rsplit_once('.').is_some_and(|(_, extension)| lists(EXTENSIONS, extension))
}

/// True if clang takes a file with this name for CUDA.
pub fn is_cuda_source(name: &str) -> bool {
    name.ends_with(".cu") && name != ".cu"
}

/// Libraries of the CUDA toolkit that the runtime replaces, as `-l` names them.
pub const REPLACED_LIBRARIES: &[&str] =
    &["cudart", "cudart_static", "cudadevrt", "cuda", "nvToolsExt", "nvidia-ml"];

/// A library beside the runtime. It stands for libraries of the CUDA toolkit where kernels run on the host.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnLibrary {
    /// Its name, as `-l` takes it.
    pub name: &'static str,
    /// The name that users know.
    pub known: &'static str,
    /// The toolkit's libraries, as `-l` names them.
    pub replaces: &'static [&'static str],
}

/// The libraries beside the runtime.
pub const OWN_LIBRARIES: [OwnLibrary; 6] = [
    OwnLibrary {
        name: "gpurace_blas",
        known: "cuBLAS",
        replaces: &["cublas", "cublas_static", "cublasLt", "cublasLt_static"],
    },
    OwnLibrary { name: "gpurace_rand", known: "cuRAND", replaces: &["curand", "curand_static"] },
    OwnLibrary {
        name: "gpurace_fft",
        known: "cuFFT",
        replaces: &["cufft", "cufft_static", "cufft_static_nocallback"],
    },
    OwnLibrary { name: "gpurace_sparse", known: "cuSPARSE", replaces: &["cusparse", "cusparse_static"] },
    OwnLibrary { name: "gpurace_solver", known: "cuSOLVER", replaces: &["cusolver", "cusolver_static"] },
    OwnLibrary { name: "gpurace_nvrtc", known: "NVRTC", replaces: &["nvrtc", "nvrtc_static"] },
];

/// The libraries that the toolkit's static libraries need. Those of gpurace do not need them.
pub const OF_STATIC_LIBRARIES: &[&str] = &[
    "culibos",
    "culibos_static",
    "cusolver_lapack_static",
    "cusolver_metis_static",
    "nvrtc-builtins_static",
    "nvptxcompiler_static",
];

/// GCC's OpenMP library. `-fopenmp` links clang's, which has the same functions: with both, a thread would ask one
/// of them about threads that the other has made.
pub const OPENMP_OF_GCC: &[&str] = &["gomp"];

/// True if this file is one of [`REPLACED_LIBRARIES`].
pub fn is_replaced_library_file(path: &str) -> bool {
    is_file_of(REPLACED_LIBRARIES, path)
}

/// True if a file, by its path, is one of these libraries: `libNAME.a`, `libNAME.so` or `libNAME.so.VERSION`.
pub fn is_file_of(libraries: &[&str], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(stem) = name.strip_prefix("lib") else {
        return false;
    };
    libraries.iter().any(|library| {
        stem.strip_prefix(library).is_some_and(|end| end == ".a" || end == ".so" || end.starts_with(".so."))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn debug_info_is_full_or_less() {
        for word in ["-g", "-g2", "-g3", "-ggdb", "-ggdb3", "-gdwarf-5", "--debug"] {
            assert!(chooses_full_debug_info(word), "{word}");
        }
        for word in ["-g0", "-g1", "-gmlt", "-gline-tables-only", "-ggdb0", "-gz", "-O2"] {
            assert!(!chooses_full_debug_info(word), "{word}");
        }
    }

    /// clang is the oracle: it prints an error if an option lacks its next word.
    #[test]
    fn clang_agrees_that_a_word_follows() {
        let missing = |option: &str| {
            let out = Command::new("clang-22").args(["-###", option]).output().unwrap();
            String::from_utf8_lossy(&out.stderr).contains("is missing (expected 1 value)")
        };
        for option in TAKES_NEXT_WORD.split_ascii_whitespace() {
            assert!(missing(option), "{option}");
        }
        for option in ["-Xarch_host", "-Xarch_sm_80", "-Xopenmp-target=nvptx64"] {
            assert!(takes_next_word(option) && missing(option), "{option}");
        }
        for option in ["-Wall", "-c", "-O2", "-std", "-MD", "-MP", "-shared", "-g", "-pthread"] {
            assert!(!takes_next_word(option) && !missing(option), "{option}");
        }
    }

    #[test]
    fn cuda_runtime_libraries_are_known_by_file_name() {
        for path in ["/usr/local/cuda/lib64/libcudart.so", "libcudart.so.12.5", "x/libcudadevrt.a"] {
            assert!(is_replaced_library_file(path), "{path}");
        }
        for path in ["libcudarts.so", "libcublas.so", "cudart.so", "libcudart.sox"] {
            assert!(!is_replaced_library_file(path), "{path}");
        }
    }
}
