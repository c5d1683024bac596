//! What CUDA 13 changed. Older programs compile all the same: gclang gives clang adapted copies of some headers of the
//! toolkit, which have what CUDA 12 had. Of the rest, clang says what it does not accept, but not that CUDA 13 is the
//! cause.

use std::path::{Path, PathBuf};

use crate::cuda::Version;
use crate::diagnostic::Error;
use crate::{dialect, headers};

/// The first version with the changes.
const SINCE: Version = Version { major: 13, minor: 0 };

/// The headers of a toolkit that get what CUDA 12 had.
pub const HEADERS: [&str; 4] = [PROPERTIES, APPENDED[0].0, APPENDED[1].0, APPENDED[2].0];

/// The header that declares `cudaDeviceProp`.
const PROPERTIES: &str = "include/driver_types.h";

/// Headers, what an old one has, and the header of gpurace to append where it is gone.
const APPENDED: [(&str, &str, &str); 3] = [
    ("include/cuda_runtime_api.h", "cudaThreadSynchronize", "gpurace/cuda12.h"),
    ("include/cccl/thrust/functional.h", "unary_function", "gpurace/thrust12.h"),
    ("include/cccl/cub/thread/thread_operators.cuh", "struct Sum", "gpurace/cub12.h"),
];

/// Members of `cudaDeviceProp` that are gone, in the order of the runtime's `cudaDeviceProp13`. They get the end of the
/// member `reserved`, which the runtime fills.
const MEMBERS: [&str; 8] = [
    "clockRate",
    "deviceOverlap",
    "kernelExecTimeoutEnabled",
    "computeMode",
    "maxTexture1DLinear",
    "memoryClockRate",
    "singleToDoublePrecisionPerfRatio",
    "cooperativeMultiDeviceLaunch",
];

/// What is gone, and what no adapted header has.
const GONE: [&str; 13] = [
    "cub::FpLimits",
    "cub::GridBarrier",
    "cudaGraphAddDependencies_v2",
    "cudaGraphAddNode_v2",
    "cudaGraphGetEdges_v2",
    "cudaGraphNodeGetDependencies_v2",
    "cudaGraphNodeGetDependentNodes_v2",
    "cudaGraphRemoveDependencies_v2",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaStreamGetCaptureInfo_v3",
    "cudaStreamUpdateCaptureDependencies_v2",
    "cuCtxCreate_v2",
    "cuCtxCreate_v3",
];

/// Folders of headers that are for C++17 and later since CUDA 13.
const LIBRARIES: [&str; 3] = ["cub/", "cuda/", "thrust/"];
/// How older standards are named behind `-std=`.
const OLDER: [&str; 8] = ["c++03", "c++0x", "c++11", "c++14", "gnu++03", "gnu++0x", "gnu++11", "gnu++14"];

/// What a user may do.
const WAY_OUT: &str = "change it, or compile with the headers of CUDA 12: `--cuda-path=DIR`";

/// True for a standard of C++ that is older than C++17.
pub fn is_older(standard: &str) -> bool {
    OLDER.contains(&standard)
}

/// The standard of C++ that sources need in place of an older one: they include what needs C++17 since CUDA 13.
/// `is_theirs` says whether the program has a header of this name itself.
pub fn newer_standard(
    sources: &[(PathBuf, String)],
    standard: &str,
    is_theirs: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let newer = if standard.starts_with("gnu") { "gnu++17" } else { "c++17" };
    let needs = |line: &str| {
        let include = headers::included(line);
        include.is_some_and(|include| {
            LIBRARIES.iter().any(|folder| include.name.starts_with(folder)) && !is_theirs(include.name)
        })
    };
    let any_needs = || sources.iter().any(|(_, text)| dialect::without_comments(text).lines().any(needs));
    (is_older(standard) && any_needs()).then_some(newer)
}

/// True if a toolkit of this version has the changes.
pub fn is_since(version: Version) -> bool {
    version >= SINCE
}

/// True for one of the [`HEADERS`].
pub fn is_header(path: &Path) -> bool {
    HEADERS.iter().any(|header| path.ends_with(header))
}

/// Returns the text of one of the [`HEADERS`] with what CUDA 12 had. `None` if it has that itself. All lines keep their
/// numbers.
pub fn adapt(path: &Path, text: &str) -> Option<String> {
    if path.ends_with(PROPERTIES) {
        return with_old_members(text);
    }
    let (_, of_old, header) = APPENDED.into_iter().find(|(name, ..)| path.ends_with(name))?;
    (!text.contains(of_old) && !text.contains(header)).then(|| format!("{text}\n#include \"{header}\"\n"))
}

/// Gives `cudaDeviceProp` its old members. They lie in the last elements of `reserved`.
fn with_old_members(text: &str) -> Option<String> {
    let start = text.find("__device_builtin__ cudaDeviceProp\n")?;
    let end = start + text[start..].find("\n};")?;
    let body = &text[start..end];
    let at = start + body.rfind(" reserved[")? + " reserved[".len();
    let length = text[at..end].find(']')?;
    let rest = text[at..at + length].parse::<usize>().ok()?.checked_sub(MEMBERS.len())?;
    let members = MEMBERS.join(", ");
    (!body.contains(MEMBERS[0]))
        .then(|| format!("{}{rest}], {members}{}", &text[..at], &text[at + length + 1..]))
}

/// What to say of sources that did not compile with a toolkit of CUDA 13. `None` if nothing of this is in them.
pub fn explain(sources: &[(PathBuf, String)]) -> Option<Error> {
    let first = |name: &&str| {
        let goes_on = |byte: Option<&u8>| byte.is_some_and(|byte| dialect::is_word(*byte));
        let names = |line: &str| {
            line.match_indices(name).any(|(at, found)| {
                let (before, behind) = (&line[..at], &line[at + found.len()..]);
                !goes_on(before.as_bytes().last()) && !goes_on(behind.as_bytes().first())
            })
        };
        sources.iter().find_map(|(path, text)| {
            let line = dialect::without_comments(text).lines().position(names)?;
            Some(format!("`{name}` ({}:{})", path.display(), line + 1))
        })
    };
    let places: Vec<String> = GONE.iter().filter_map(first).collect();
    let what = format!("CUDA 13 changed or removed {}", places.join(", "));
    (!places.is_empty()).then(|| Error::new(what).hint(WAY_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_members_take_the_end_of_what_is_reserved() {
        let header = "struct A { int reserved[9]; };\nstruct __device_builtin__ cudaDeviceProp\n{\n    \
                      int reserved[56]; /* zero */\n};\nstruct B { int reserved[16]; };\n";
        let path = Path::new("/cuda/include/driver_types.h");
        let adapted = adapt(path, header).unwrap();
        assert_eq!(adapted, header.replace("[56];", &format!("[48], {};", MEMBERS.join(", "))));
        assert_eq!(adapt(path, &adapted), None);
        // CUDA 12, too few elements, another header.
        assert_eq!(adapt(path, &header.replace("int reserved[56]", "int clockRate, reserved[60]")), None);
        assert_eq!(adapt(path, &header.replace("56", "7")), None);
        assert_eq!(adapt(Path::new("/mine/driver_types.h"), header), None);
    }

    #[test]
    fn new_headers_get_what_old_ones_have() {
        let path = Path::new("/cuda/include/cuda_runtime_api.h");
        let adapted = adapt(path, "int f();\n").unwrap();
        assert_eq!(adapted, "int f();\n\n#include \"gpurace/cuda12.h\"\n");
        assert_eq!(adapt(path, &adapted), None);
        assert_eq!(adapt(path, "int cudaThreadSynchronize();\n"), None);
    }

    #[test]
    fn a_library_that_needs_a_newer_standard_gets_it() {
        let newer = |text: &str, standard: &str, own: &str| {
            newer_standard(&[(PathBuf::from("a.cu"), text.to_owned())], standard, |name| name == own)
        };
        let cub = "// #include <cub/a.cuh>\n#include <cub/cub.cuh>\n";
        assert_eq!(newer(cub, "c++11", ""), Some("c++17"));
        assert_eq!(newer(cub, "gnu++14", ""), Some("gnu++17"));
        assert_eq!(newer(cub, "c++17", ""), None);
        assert_eq!(newer(cub, "", ""), None);
        assert_eq!(newer(cub, "c++11", "cub/cub.cuh"), None);
        assert_eq!(newer("#include <cuda_fp16.h>\n#include \"cuda.h\"\n", "c++11", ""), None);
    }

    #[test]
    fn a_failure_names_what_is_gone_and_its_first_place() {
        let file = |text: &str| (PathBuf::from("a.cu"), text.to_owned());
        assert_eq!(explain(&[file("int main() { return f(); }")]), None);
        let names = "cudaGraphAddNode_v2x(); // cub::FpLimits\n\n mycub::FpLimits; cudaThreadSynchronize();";
        assert_eq!(explain(&[file(names)]), None);
        let error =
            explain(&[file("f();\ncub::FpLimits<T>::Max();"), file("cudaGraphAddNode_v2(p, 1, a, 0);")])
                .unwrap();
        insta::assert_snapshot!(error.to_string(), @r"
        error: CUDA 13 changed or removed `cub::FpLimits` (a.cu:2), `cudaGraphAddNode_v2` (a.cu:1)
        hint: change it, or compile with the headers of CUDA 12: `--cuda-path=DIR`
        ");
    }
}
