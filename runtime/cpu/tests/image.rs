//! Host images: opened from memory, or refused.

use std::path::Path;
use std::process::Command;

use gpurace_abi::image::FORMAT_VERSION;
use gpurace_cpu::{Image, ImageError};

/// An image in C, with the table of `gpurace_abi::image`.
const SOURCE: &str = r#"
#include <stdint.h>
typedef void (*KernelFn)(void *ctx, const uint8_t *args);
typedef void (*BlockFn)(void *ctx, const uint8_t *args, uint8_t *frame);
struct Kernel { const char *name; KernelFn run; KernelFn run_bare;
                BlockFn run_block; uint64_t frame_bytes, needs_whole_warps;
                BlockFn run_block_checked; uint64_t checked_frame_bytes, checked_sets_threads;
                KernelFn run_open;
                BlockFn run_block_open; uint64_t open_frame_bytes, open_sets_threads; };
struct Variable { const char *name; void *address; uint64_t size; };
struct Table { uint32_t version, flags; uint64_t kernel_count; const struct Kernel *kernels;
               uint64_t variable_count; const struct Variable *variables; };
static int counter = 41;
static void checked(void *ctx, const uint8_t *args) { counter += *(const int *)args; }
static void bare(void *ctx, const uint8_t *args) { counter -= *(const int *)args; }
static const struct Kernel kernels[] = { { "_Z3addi", checked, bare }, { "_Z4plaini", checked, 0 } };
static const struct Variable variables[] = { { "counter", &counter, sizeof counter } };
#ifndef NO_TABLE
const struct Table __gpurace_image = { VERSION, FLAGS, 2, kernels, 1, variables };
#endif
"#;

/// Compiles the image with these macros; `None` if there is no C compiler.
fn image(dir: &Path, macros: &[&str]) -> Option<Vec<u8>> {
    let source = dir.join("image.c");
    let object = dir.join("image.so");
    std::fs::write(&source, SOURCE).expect("source");
    let compiler = ["clang-22", "clang", "cc"]
        .into_iter()
        .find(|c| Command::new(c).arg("--version").output().is_ok())?;
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&object)
        .args(macros)
        .arg(&source)
        .status()
        .expect("compiler");
    assert!(status.success());
    Some(std::fs::read(object).expect("image"))
}

/// Of this version, or of another one that the macros name.
fn open(macros: &[&str]) -> Result<Image, ImageError> {
    let version = format!("-DVERSION={FORMAT_VERSION}");
    let other = macros.iter().any(|m| m.starts_with("-DVERSION"));
    let macros: Vec<_> = macros.iter().copied().chain((!other).then_some(&*version)).collect();
    let dir = tempfile::tempdir().expect("directory");
    let bytes = image(dir.path(), &macros).expect("a C compiler");
    // SAFETY: the image was made above.
    unsafe { Image::open(&bytes) }
}

#[test]
fn kernels_and_variables_are_found_by_name() {
    let image = open(&["-DFLAGS=0"]).expect("image");
    let names: Vec<_> = image.kernels().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["_Z3addi", "_Z4plaini"]);
    assert!(image.kernel("_Z4plaini").expect("kernel").run_bare.is_none());
    assert!(image.kernel("_Z5otheri").is_none());
    let counter = image.variable("counter").expect("variable");
    assert_eq!(counter.size, 4);
    let add = image.kernel("_Z3addi").expect("kernel");
    let five = 5i32;
    // SAFETY: the kernel reads one int of arguments, and no context.
    let value = unsafe {
        (add.run)(std::ptr::null_mut(), (&raw const five).cast());
        (counter.address as *const i32).read()
    };
    assert_eq!(value, 46);
}

#[test]
fn two_openings_of_one_image_are_apart() {
    let [one, two] = [0; 2].map(|_| open(&["-DFLAGS=0"]).expect("image"));
    let address = |i: &Image| i.variable("counter").expect("variable").address;
    assert_ne!(address(&one), address(&two));
}

#[test]
fn other_versions_are_refused() {
    let error = open(&["-DVERSION=99", "-DFLAGS=0"]).expect_err("version");
    assert!(matches!(error, ImageError::Version { found: 99 }));
    assert_eq!(
        error.to_string(),
        format!("device image has format version 99 where {FORMAT_VERSION} was wanted")
    );
}

#[test]
fn an_image_without_a_table_is_refused() {
    let error = open(&["-DNO_TABLE"]).expect_err("no table");
    assert!(matches!(error, ImageError::NoTable));
}

#[test]
fn what_is_no_shared_object_is_refused() {
    // SAFETY: the loader refuses it.
    let error = unsafe { Image::open(b"not an image") }.expect_err("garbage");
    assert!(matches!(error, ImageError::Load(_)));
}

#[test]
fn an_image_for_newer_processors_opens_where_they_are() {
    let has = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    match open(&["-DFLAGS=1"]) {
        Ok(_) => assert!(has),
        Err(ImageError::Processor { .. }) => assert!(!has),
        Err(e) => panic!("{e}"),
    }
}
