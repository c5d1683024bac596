//! Opening the driver, or the reason why there is no GPU.

use std::ffi::c_void;
use std::path::Path;
use std::process::Command;

use gpurace_cuda::{Gpu, Unavailable};

use crate::support::*;

#[test]
fn without_a_driver_it_says_so() {
    if !is_inner("without_a_driver_it_says_so", None, &[]) {
        return;
    }
    // A machine with a driver has it with any library path.
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let why = Gpu::open().unwrap_err();
    assert_eq!(why, Unavailable::NoDriver);
    assert_eq!(why.to_string(), "no NVIDIA driver: `libcuda.so.1` was not found");
}

#[test]
fn the_own_driver_api_is_no_driver() {
    const NAME: &str = "the_own_driver_api_is_no_driver";
    if std::env::var_os("GPURACE_MOCK").is_none() {
        // A library with the mark of gpurace's own.
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("own.c");
        std::fs::write(&source, "unsigned __gpurace_driver_api = 1; int cuInit(unsigned f) { return 0; }")
            .unwrap();
        let library = folder.path().join("libcuda.so.1");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
        assert!(built.success());
        is_inner(NAME, Some(folder.path()), &[]);
        return;
    }
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    assert_eq!(Gpu::open().unwrap_err(), Unavailable::NoDriver);
}

#[test]
fn without_a_device_it_says_so() {
    if !is_inner("without_a_device_it_says_so", Some(mock_folder()), &[("MOCK_DEVICES", "0")]) {
        return;
    }
    let why = Gpu::open().unwrap_err().to_string();
    assert_eq!(why, "no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE");
}

#[test]
fn the_stub_for_linking_is_no_driver() {
    if !is_inner("the_stub_for_linking_is_no_driver", Some(mock_folder()), &[("MOCK_INIT", "34")]) {
        return;
    }
    let why = Gpu::open().unwrap_err();
    assert!(matches!(&why, Unavailable::Stub(path) if path.ends_with("/libcuda.so.1")), "{why:?}");
    assert!(
        why.to_string()
            .ends_with("wanted the NVIDIA driver's library: take its folder out of LD_LIBRARY_PATH"),
        "{why}"
    );
}

#[test]
fn errors_that_nobody_knows_have_their_number() {
    if !is_inner("errors_that_nobody_knows_have_their_number", Some(mock_folder()), &[("MOCK_INIT", "4711")])
    {
        return;
    }
    assert_eq!(Gpu::open().unwrap_err().to_string(), "no NVIDIA GPU: `cuInit` failed: error 4711");
}

#[test]
fn the_context_is_made_current_again() {
    type Set = unsafe extern "C" fn(*mut c_void) -> u32;
    type Get = unsafe extern "C" fn(*mut *mut c_void) -> u32;
    let Some((gpu, _module, _log)) = opened("the_context_is_made_current_again", &[]) else { return };
    // SAFETY: the mock's functions, by its own signatures.
    let (set, get) = unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        let (set, get) = (
            libc::dlsym(driver, c"cuCtxSetCurrent".as_ptr()),
            libc::dlsym(driver, c"cuCtxGetCurrent".as_ptr()),
        );
        (std::mem::transmute::<*mut c_void, Set>(set), std::mem::transmute::<*mut c_void, Get>(get))
    };
    let current = || {
        let mut context = std::ptr::null_mut();
        // SAFETY: writes it.
        assert_eq!(unsafe { get(&mut context) }, 0);
        context
    };
    let own = current();
    assert!(!own.is_null());
    // The program's own context, or none.
    for other in [8 as *mut c_void, std::ptr::null_mut()] {
        // SAFETY: the mock only stores the address.
        assert_eq!(unsafe { set(other) }, 0);
        gpu.device().enter().unwrap();
        assert_eq!(current(), own);
    }
}

#[test]
fn an_old_device_is_refused() {
    if !is_inner("an_old_device_is_refused", Some(mock_folder()), &[("MOCK_ARCH", "61")]) {
        return;
    }
    assert_eq!(Gpu::open().unwrap_err(), Unavailable::TooOldDevice { major: 6, minor: 1 });
}
