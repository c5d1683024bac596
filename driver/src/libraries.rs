//! Libraries that a link needs and that are often missing. The linker would only say that it cannot find
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::clang_options::{self, OWN_LIBRARIES, OwnLibrary};
use crate::diagnostic::Error;
use crate::flags::Exec;
use crate::toolchain::LLVM_MAJOR;

/// CUDA's libraries that gpurace does not replace, with the names that users know.
const OF_CUDA: [(&str, &str); 17] = [
    ("cublas", "cuBLAS"),
    ("cublasLt", "cuBLAS"),
    ("cudnn", "cuDNN"),
    ("cufft", "cuFFT"),
    ("cufftw", "cuFFTW"),
    ("cufile", "cuFile"),
    ("cupti", "CUPTI"),
    ("curand", "cuRAND"),
    ("cusolver", "cuSOLVER"),
    ("cusparse", "cuSPARSE"),
    ("cutensor", "cuTENSOR"),
    ("nccl", "NCCL"),
    ("nppc", "NPP"),
    ("nvJitLink", "nvJitLink"),
    ("nvjpeg", "nvJPEG"),
    ("nvrtc", "NVRTC"),
    ("nvptxcompiler", "the PTX compiler"),
];

/// Headers of libraries, and of parts of libraries, that gpurace does not have. A name that ends with `/` is a folder.
const LACKING: [(&str, &str); 19] = [
    ("cublasXt.h", "cuBLAS for several GPUs (cublasXt)"),
    ("cudnn.h", "cuDNN"),
    ("cufftw.h", "cuFFTW"),
    ("cufile.h", "cuFile"),
    ("cupti.h", "CUPTI"),
    ("cusolverMg.h", "cuSOLVER for several GPUs"),
    ("cusolverRf.h", "sparse cuSOLVER"),
    ("cusolverSp.h", "sparse cuSOLVER"),
    ("cutensor.h", "cuTENSOR"),
    ("nccl.h", "NCCL"),
    ("npp.h", "NPP"),
    ("nppi.h", "NPP"),
    ("npps.h", "NPP"),
    ("nvJitLink.h", "nvJitLink"),
    ("nvPTXCompiler.h", "the PTX compiler"),
    ("nvjpeg.h", "nvJPEG"),
    ("ATen/", PYTORCH),
    ("c10/", PYTORCH),
    ("torch/", PYTORCH),
];
const PYTORCH: &str = "PyTorch";

/// Returns the library of a header, if gpurace does not have it.
pub fn lacking_header(name: &str) -> Option<&'static str> {
    let is = |header: &str| name == header || header.ends_with('/') && name.starts_with(header);
    LACKING.iter().find(|(header, _)| is(header)).map(|(_, known)| *known)
}

/// Returns the library of a target `CUDA::name` of CMake, if gpurace does not have it.
pub fn lacking_target(name: &str) -> Option<&'static str> {
    let name = match name {
        _ if name.starts_with("npp") => "nppc",
        _ => name.strip_suffix("_static").unwrap_or(name),
    };
    let found = OF_CUDA.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, known)| *known).filter(|known| !is_own(known))
}

/// Returns the library of a package of CMake, if gpurace does not have it.
pub fn lacking_package(name: &str) -> Option<&'static str> {
    if name.eq_ignore_ascii_case("torch") {
        return Some(PYTORCH);
    }
    let found = OF_CUDA.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
    found.map(|(_, known)| *known).filter(|known| !is_own(known))
}

/// What to do about a library that gpurace does not have.
pub fn advice(library: &str) -> &'static str {
    match library {
        PYTORCH => "PyTorch's libraries run on GPUs only: check a small program that calls the kernels",
        _ => "NVIDIA's runs on GPUs only: leave out what calls it",
    }
}

/// True if gpurace has a library of its own, by the name that users know.
fn is_own(known: &str) -> bool {
    OWN_LIBRARIES.iter().any(|own| own.known == known)
}

/// Returns the libraries beside the runtime that a link takes in place of NVIDIA's. It takes one if kernels run on the
/// host only, or if they may run there and NVIDIA's library is missing. `asked` is as in [`missing`].
pub fn own_libraries(args: &Args, asked: impl Fn(&str) -> Option<PathBuf>) -> Vec<&'static OwnLibrary> {
    let named: Vec<String> = named(args).collect();
    let folders = folders(args);
    let is_taken = |own: &&OwnLibrary| {
        let mut named = named.iter().filter(|name| own.replaces.contains(&name.as_str()));
        let mut files = args.inputs().map(|input| input.path.to_string_lossy());
        match args.asked.exec.unwrap_or_default() {
            Exec::Cpu => {
                named.next().is_some() || files.any(|file| clang_options::is_file_of(own.replaces, &file))
            }
            Exec::Auto => named.any(|name| !is_found(&folders, name, &asked)),
            Exec::Cuda => false,
        }
    };
    OWN_LIBRARIES.iter().filter(is_taken).collect()
}

/// True if a library is in one of these folders or in clang's.
fn is_found(folders: &[PathBuf], name: &str, asked: impl Fn(&str) -> Option<PathBuf>) -> bool {
    ["so", "a"].iter().any(|end| {
        let file = format!("lib{name}.{end}");
        folders.iter().any(|folder| folder.join(&file).exists()) || asked(&file).is_some()
    })
}

/// A library of CUDA that the command line names, and that neither the user's folders nor clang's have. Many build
/// files name libraries that the program does not call, so the link goes without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLibrary {
    /// Its name, as `-l` takes it.
    pub name: String,
    /// The name that users know.
    known: &'static str,
}

impl MissingLibrary {
    /// What to tell the user if the link fails without it.
    pub fn error(&self) -> Error {
        let own = match is_own(self.known) {
            true => "has one for the host only (`-fgpurace-exec=cpu`)",
            false => "has none of its own",
        };
        Error::new(format!("`-l{}`: the library of {} was not found", self.name, self.known)).hint(format!(
            "gpurace {own}, and NVIDIA's runs on GPUs only: leave out what calls it, or name its folder with `-L`"
        ))
    }
}

/// Returns the libraries of CUDA that are missing. `asked` returns the path of a file in clang's folders.
///
/// # Errors
/// OpenMP's library is missing: clang calls it wherever `-fopenmp` is used.
pub fn missing(args: &Args, asked: impl Fn(&str) -> Option<PathBuf>) -> Result<Vec<MissingLibrary>, Error> {
    let folders = folders(args);
    let is_found = |name: &str| is_found(&folders, name, &asked);
    let is_own = |name: &str| args.own_libraries.iter().any(|own| own.replaces.contains(&name));
    let missing = named(args).filter_map(|name| {
        let base = name.strip_suffix("_static").unwrap_or(&name);
        let (_, known) = OF_CUDA.iter().find(|(own, _)| *own == base)?;
        (!is_own(&name) && !is_found(&name)).then_some(MissingLibrary { name, known })
    });
    let missing = missing.collect();
    if links_openmp(args) && !["omp", "iomp5"].iter().any(|name| is_found(name)) {
        return Err(Error::new("`-fopenmp` needs LLVM's OpenMP library `libomp`, which was not found")
            .hint(format!("install it with `apt-get install libomp-{LLVM_MAJOR}-dev`")));
    }
    Ok(missing)
}

/// True if the link gets clang's OpenMP library.
pub fn links_openmp(args: &Args) -> bool {
    args.options().any(|option| option == "-fopenmp")
}

/// Returns the part of a C++ installation that this machine lacks, if any: clang brings no C or C++ library.
/// Without this, clang would only name the first header that it cannot find.
///
/// # Errors
/// Names the missing part, and how to get it.
pub fn check_host(clang: &Path) -> Result<PathBuf, Error> {
    let standard = of_clang(clang, "libstdc++.so");
    let missing = if !has_header(clang, "c", "stdlib.h") || of_clang(clang, "crt1.o").is_none() {
        "the C library's headers and start files"
    } else if !has_header(clang, "c++", "cstdlib") || standard.is_none() {
        "the C++ library's headers"
    } else if !has_linker(clang) {
        return Err(Error::new("no linker was found").hint("install one with `apt-get install binutils`"));
    } else {
        return Ok(standard.unwrap_or_default());
    };
    Err(Error::new(format!("{missing} were not found; host code needs them"))
        .hint("install them with `apt-get install g++`; `libstdc++-12-dev` is enough on Debian 12 if clang was installed with gpurace"))
}

fn has_header(clang: &Path, language: &str, header: &str) -> bool {
    let mut command = Command::new(clang);
    command.args(["-fsyntax-only", "-x", language, "-include", header, "/dev/null"]);
    command.output().is_ok_and(|output| output.status.success())
}

fn has_linker(clang: &Path) -> bool {
    let Ok(output) = Command::new(clang).arg("-print-prog-name=ld").output() else { return false };
    // clang prints the bare name if it finds no such program.
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute()
}

/// Returns the path of a file in the folders of libraries that clang searches.
pub fn of_clang(clang: &Path, file: &str) -> Option<PathBuf> {
    let output = Command::new(clang).arg(format!("-print-file-name={file}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // clang prints the name itself if it finds none.
    (path.is_absolute() && path.exists()).then_some(path)
}

/// The libraries that the link names, except by a file.
fn named(args: &Args) -> impl Iterator<Item = String> {
    args.values_of("-l").filter(|name| !name.starts_with(':'))
}

/// The user's folders of libraries.
fn folders(args: &Args) -> Vec<PathBuf> {
    let environment = std::env::var_os("LIBRARY_PATH").unwrap_or_default();
    args.values_of("-L").map(PathBuf::from).chain(std::env::split_paths(&environment)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str, clangs: &[&str]) -> Option<String> {
        let args = Args::parse(line.split(' ').map(Into::into).collect()).unwrap();
        let asked = |file: &str| clangs.contains(&file).then(|| PathBuf::from(file));
        match missing(&args, asked) {
            Ok(missing) => missing.first().map(|library| library.error().to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn gpurace_has_libraries_for_the_host() {
        let taken = |line: &str, clangs: &[&str]| -> Vec<&str> {
            let args = Args::parse(line.split(' ').map(Into::into).collect()).unwrap();
            let asked = |file: &str| clangs.contains(&file).then(|| PathBuf::from(file));
            own_libraries(&args, asked).iter().map(|own| own.name).collect()
        };
        let nothing: [&str; 0] = [];
        for (own, library) in [
            ("gpurace_blas", "-lcublas"),
            ("gpurace_blas", "-lcublasLt"),
            ("gpurace_blas", "-lcublas_static"),
            ("gpurace_blas", "-l cublas"),
            ("gpurace_blas", "/c/lib64/libcublas.so"),
            ("gpurace_rand", "-lcurand"),
            ("gpurace_rand", "-lcurand_static -lculibos"),
            ("gpurace_rand", "/c/lib64/libcurand.so.10"),
            ("gpurace_fft", "-lcufft"),
            ("gpurace_fft", "-lcufft_static_nocallback -lculibos"),
            ("gpurace_fft", "/c/lib64/libcufft.so.12"),
            ("gpurace_sparse", "-lcusparse"),
            ("gpurace_sparse", "-lcusparse_static -lculibos"),
            ("gpurace_solver", "-lcusolver"),
            ("gpurace_solver", "-lcusolver_static -lcusolver_lapack_static"),
            ("gpurace_solver", "/c/lib64/libcusolver.so.12"),
            ("gpurace_nvrtc", "-lnvrtc"),
            ("gpurace_nvrtc", "-lnvrtc_static -lnvrtc-builtins_static -lnvptxcompiler_static"),
        ] {
            let found = &["libcublas.so", "libcurand.so"];
            assert_eq!(taken(&format!("-fgpurace-exec=cpu a.cu {library}"), found), [own], "{library}");
            assert_eq!(taken(&format!("-fgpurace-exec=cuda a.cu {library}"), &[]), nothing, "{library}");
        }
        // The program may use a GPU: NVIDIA's is taken where it is.
        let both = "-fgpurace-exec=auto a.cu -lcublas -lcurand";
        assert_eq!(taken(both, &[]), ["gpurace_blas", "gpurace_rand"]);
        assert_eq!(taken(both, &["libcublas.so"]), ["gpurace_rand"]);
        assert_eq!(taken(both, &["libcublas.so", "libcurand.so"]), nothing);
        assert_eq!(taken("-fgpurace-exec=cpu a.cu -lm -lculibos", &[]), nothing);
    }

    #[test]
    fn a_missing_library_of_cuda_is_named() {
        let said = refusal("a.cu -lcublas", &[]).unwrap();
        assert!(said.starts_with("error: `-lcublas`: the library of cuBLAS was not found\nhint: "), "{said}");
        assert!(refusal("a.cu -l cufft_static", &[]).unwrap().contains("`-lcufft_static`"));
        assert!(refusal("a.cu -lcurand", &[]).unwrap().contains("hint: gpurace has one for the host only"));
        assert!(refusal("a.cu -lcufftw", &[]).unwrap().contains("hint: gpurace has none of its own"));
        assert_eq!(refusal("a.cu -lcublas", &["libcublas.so"]), None);
        assert_eq!(refusal("a.cu -lm -lmine -lcudart -lcuda -l:libcublas.so.12", &[]), None);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libnccl.so"), "").unwrap();
        assert_eq!(refusal(&format!("a.cu -L{} -lnccl", folder.path().display()), &[]), None);
    }

    #[test]
    fn what_the_runtime_replaces_is_never_missing() {
        let replaced = crate::clang_options::REPLACED_LIBRARIES;
        assert!(OF_CUDA.iter().all(|(name, _)| !replaced.contains(name)));
    }

    #[test]
    fn openmp_needs_its_library() {
        let said = refusal("-fopenmp a.cu", &[]).unwrap();
        assert_eq!(
            said.trim(),
            "error: `-fopenmp` needs LLVM's OpenMP library `libomp`, which was not found\nhint: install it with `apt-get install libomp-22-dev`"
        );
        assert_eq!(refusal("-fopenmp a.cu", &["libomp.so"]), None);
        assert_eq!(refusal("-fopenmp=libgomp a.cu", &[]), None);
    }
}
