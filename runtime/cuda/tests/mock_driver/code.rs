//! Loading code, and what a kernel's launch needs of it.

use gpurace_cuda::{Code, Variant};

use crate::support::*;

#[test]
fn kernels_are_loaded_before_they_run() {
    let Some((mut gpu, mut module, log)) = opened("kernels_are_loaded_before_they_run", &[]) else { return };
    // The checker's kernel is loaded with the module: later, loading might wait for all that runs.
    assert_eq!(log.count("ready __gpurace_begin"), 1);
    let a = gpu.allocate(4096).unwrap();
    for _ in 0..2 {
        run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 1), a).unwrap();
    }
    assert_eq!(log.count("ready "), 2, "{}", log.read());
}

#[test]
fn clusters_may_be_as_wide_as_the_gpu_takes() {
    let Some((mut gpu, mut module, log)) = opened("clusters_may_be_as_wide_as_the_gpu_takes", &[]) else {
        return;
    };
    let a = gpu.allocate(4096).unwrap();
    // Each variant must ask for more than eight blocks.
    for (variant, blocks) in [(Variant::Bare, 8), (Variant::Bare, 16), (Variant::Checked, 16)] {
        let mut clusters = launch("ordered", variant, 16);
        clusters.shape.cluster = Some([blocks, 1, 1]);
        run(&mut gpu, &mut module, &clusters, a).unwrap();
        assert_eq!(log.count(&format!("launch clusters of {blocks} ")), 1, "{}", log.read());
        log.clear();
    }
}

#[test]
fn the_code_for_this_processor_is_taken() {
    let Some((mut gpu, _module, log)) = opened("the_code_for_this_processor_is_taken", &[]) else { return };
    let ptx = |from| Some((arch(from), &b"// PTX\0"[..]));
    let mut loads = |code: Code<'_>| {
        log.clear();
        let loaded = gpu.load(&code).map(|_| ()).map_err(|e| e.to_string());
        let calls = log.read();
        let loads = calls.lines().filter(|line| line.starts_with("load"));
        (loaded, loads.map(|line| format!("{line}\n")).collect::<String>())
    };
    let own = Code {
        sass: Some((arch(80), b"CUBIN\0")),
        ptx: ptx(80),
        orders: false,
        annotated: false,
        variables: &["total", "not_there"],
    };
    assert_eq!(loads(own), (Ok(()), "load CUBIN\n".to_owned()));
    let other = Code { sass: Some((arch(90), b"CUBIN\0")), ..own };
    assert_eq!(loads(other), (Ok(()), "load // PT\n".to_owned()));
    // If the processor's code does not load, PTX does.
    let bad = Code { sass: Some((arch(80), b"broken\0")), ..own };
    assert_eq!(loads(bad), (Ok(()), "load broke\nload // PT\n".to_owned()));
    let newer = Code {
        sass: None,
        ptx: ptx(90),
        orders: false,
        annotated: false,
        variables: &["total", "not_there"],
    };
    assert_eq!(
        loads(newer).0.unwrap_err(),
        "`cuModuleLoadDataEx` failed: no code for `sm_80` in the program"
    );
    let broken = Code {
        sass: None,
        ptx: Some((arch(70), b"broken\0")),
        orders: false,
        annotated: false,
        variables: &["total", "not_there"],
    };
    let why = loads(broken).0.unwrap_err();
    assert!(why.contains("CUDA_ERROR_INVALID_PTX: ptxas application ptx input, line 1"), "{why}");
}

#[test]
fn ptx_that_is_newer_than_the_driver_is_given_as_its_newest() {
    let Some((mut gpu, _module, log)) =
        opened("ptx_that_is_newer_than_the_driver_is_given_as_its_newest", &[("MOCK_VERSION", "12040")])
    else {
        return;
    };
    let mut load = |text: &'static [u8]| {
        log.clear();
        let code =
            Code { sass: None, ptx: Some((arch(80), text)), orders: false, annotated: false, variables: &[] };
        let loaded = gpu.load(&code).map(|_| ()).map_err(|e| e.to_string());
        let calls = log.read();
        (loaded, calls.lines().filter_map(|line| line.strip_prefix("version ")).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(load(b"//\n.version 8.4\n\0"), (Ok(()), "8.4".to_owned()));
    assert_eq!(load(b"//\n.version 7.0\n\0"), (Ok(()), "7.0".to_owned()));
    assert_eq!(load(b"//\n.version 8.5\n\0"), (Ok(()), "8.4".to_owned()));
    let (refused, given) = load(b"//\n.version 8.5\nbroken\n\0");
    assert_eq!(given, "", "the mock looks for what is broken first");
    assert!(refused.unwrap_err().ends_with("(the program's PTX is of version 8.5, the driver knows 8.4)"));
}
