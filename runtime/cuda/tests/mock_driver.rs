//! The backend over a driver of our own: see `mock/libcuda.cpp`. Each test runs
//! again in a process of its own whose library path has that driver, or none.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gpurace_abi::device::Found;
use gpurace_abi::event::EventKind;
use gpurace_abi::gpu_code::Arch;
use gpurace_cuda::driver::Stream;
use gpurace_cuda::{Code, Gpu, Launch, LeftOut, Module, Touched, Transfer, Unavailable, Variant, notes};

/// Builds the driver once; gives its folder.
fn mock() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let prefix =
                std::env::var("LLVM_SYS_191_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-19".to_owned());
            let device = root.join("../device/cpp");
            let built = Command::new(format!("{prefix}/bin/clang++"))
                .args([
                    "-shared",
                    "-fPIC",
                    "-std=c++17",
                    "-O1",
                    "-w",
                    "-Wl,-soname,libcuda.so.1",
                    "-Wl,-Bsymbolic",
                    "-I",
                ])
                .arg(&device)
                .arg(root.join("tests/mock/libcuda.cpp"))
                .arg("-o")
                .arg(folder.path().join("libcuda.so.1"))
                .status()
                .unwrap();
            assert!(built.success());
            folder
        })
        .path()
}

/// Whether this is the process that is to run the test `name`; else runs it in one with
/// the driver in `folder`, and these variables.
fn is_inner(name: &str, folder: Option<&Path>, variables: &[(&str, &str)]) -> bool {
    if std::env::var("GPURACE_MOCK").is_ok_and(|v| v == name) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env("GPURACE_MOCK", name);
    command.envs(variables.iter().copied());
    match folder {
        Some(folder) => command.env("LD_LIBRARY_PATH", folder),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

/// What the driver was called for, in a file that goes with this.
struct Log(PathBuf);

impl Log {
    fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    fn clear(&self) {
        let _ = std::fs::remove_file(&self.0);
    }

    fn count(&self, call: &str) -> usize {
        self.read().matches(call).count()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.clear();
    }
}

/// In the process that is to run the test `name`, over the driver with these variables: its GPU, with a module loaded.
fn opened(name: &str, variables: &[(&str, &str)]) -> Option<(Gpu, Module, Log)> {
    let log = std::env::temp_dir().join(format!("gpurace-mock-{name}-{}", std::process::id()));
    let log = log.to_string_lossy().into_owned();
    let variables = [variables, &[("MOCK_LOG", &log)]].concat();
    if !is_inner(name, Some(mock_folder()), &variables) {
        return None;
    }
    let log = Log(std::env::var_os("MOCK_LOG").unwrap().into());
    let mut gpu = Gpu::open().unwrap();
    let module = gpu.load(&PTX).unwrap();
    Some((gpu, module, log))
}

const fn arch(number: u32) -> Arch {
    Arch { number, alone: false }
}

const PTX: Code<'static> = Code {
    sass: None,
    ptx: Some((arch(70), b"// PTX\0")),
    orders: false,
    annotated: false,
    events: 0,
    variables: &["total", "not_there"],
};

fn launch(kernel: &str, variant: Variant, blocks: u32) -> Launch<'_> {
    Launch {
        kernel,
        variant,
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        static_shared: 0,
        dynamic_shared: 0,
        cooperative: false,
        cluster: None,
        unordered: &[],
        events: 0,
        observes: false,
        stream: Stream::DEFAULT,
        number: 7,
    }
}

fn run(gpu: &mut Gpu, module: &mut Module, launch: &Launch<'_>, mut a: u64) -> Result<(), String> {
    let arguments = [(&raw mut a).cast::<c_void>()];
    // SAFETY: the mock's kernels take one address.
    unsafe { gpu.launch(module, launch, &arguments) }.map_err(|e| e.to_string())
}

#[test]
fn without_a_driver_it_says_so() {
    if !is_inner("without_a_driver_it_says_so", None, &[]) {
        return;
    }
    // A machine with a driver has one whatever the path.
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let why = Gpu::open().unwrap_err();
    assert_eq!(why, Unavailable::NoDriver);
    assert_eq!(why.to_string(), "no NVIDIA driver: `libcuda.so.1` was not found");
}

#[test]
fn without_a_device_it_says_so() {
    if !is_inner("without_a_device_it_says_so", Some(mock_folder()), &[("MOCK_DEVICES", "0")]) {
        return;
    }
    let why = Gpu::open().unwrap_err().to_string();
    assert_eq!(why, "no NVIDIA GPU: `cuInit` failed: CUDA_ERROR_NO_DEVICE");
}

/// The driver's folder; the inner process needs none of its own.
fn mock_folder() -> &'static Path {
    if std::env::var_os("GPURACE_MOCK").is_some() { Path::new("/") } else { mock() }
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
    // The program's own, or none.
    for other in [8 as *mut c_void, std::ptr::null_mut()] {
        // SAFETY: the mock keeps what it is given.
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

#[test]
fn races_come_back() {
    let Some((mut gpu, mut module, _log)) = opened("races_come_back", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 3), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    let counters = gpu.counters().unwrap();
    assert_eq!((counters.outside, counters.shared_outside), (0, 0));
    assert_eq!(gpu.take_checks(), [(7, 3 * 64 * 2)]);
    assert_eq!(notes(&counters, &LeftOut { uncovered: gpu.memory.uncovered, ..LeftOut::default() }), [""; 0]);

    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 2), a).unwrap();
    gpu.wait().unwrap();
    let found = gpu.take_found();
    assert!(!found.is_empty());
    for f in &found {
        assert_eq!((f.site, f.earlier_site, f.op, f.earlier_op), (1, 1, 1, 1), "{f:?}");
        assert_eq!((f.launch, f.address, f.size, f.shared), (7, a, 4, 0));
        assert_ne!((f.block, f.thread), (f.earlier_block, f.earlier_thread));
    }
    // One pair of instructions is not written again and again, and that is said.
    let counters = gpu.counters().unwrap();
    assert!(counters.repeated > 0 && found.len() < 10);
    assert!(notes(&counters, &LeftOut::default())[0].contains("the same instructions"));
    assert_eq!(gpu.take_found(), [], "given out once");
}

#[test]
fn launches_log_what_their_threads_do() {
    let Some((mut gpu, mut module, _log)) = opened("launches_log_what_their_threads_do", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    let logging = |kernel, number| Launch { events: 1 << 16, number, ..launch(kernel, Variant::Checked, 2) };
    run(&mut gpu, &mut module, &logging("ordered", 11), a).unwrap();
    assert!(gpu.has_log(11) && !gpu.has_log(7));
    gpu.wait().unwrap();
    let logs = gpu.take_logs();
    let [gpurace_cuda::Log { number: 11, events, is_cut: false, held: 0 }] = &logs[..] else {
        panic!("{logs:?}")
    };
    let count = |kind, block| {
        events.iter().filter(|event| event.kind() == Some(kind) && event.block == block).count()
    };
    for block in 0..2 {
        // One thread says that the barrier was passed.
        let of = [EventKind::Write, EventKind::Barrier, EventKind::Read, EventKind::Leave]
            .map(|kind| count(kind, block));
        assert_eq!(of, [64, 1, 64, 64]);
    }
    assert_eq!(events.len(), 2 * (64 + 1 + 64 + 64));
    let write = events[3];
    assert_eq!(
        (write.thread(), write.address, write.size, write.site, write.is_shared()),
        (3, a + 12, 4, 2, false)
    );

    // The log has a race of one launch; that of two the GPU finds.
    run(&mut gpu, &mut module, &logging("racy", 12), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!((gpu.take_found(), gpu.take_logs().len()), (vec![], 1));
    run(&mut gpu, &mut module, &Launch { unordered: &[12], ..logging("ordered", 13) }, a).unwrap();
    gpu.wait().unwrap();
    assert!(gpu.take_found().iter().any(|found| (found.earlier_launch, found.launch) == (12, 13)));
    assert_eq!(gpu.take_logs().len(), 1);
    // There is room for 64 of this size at a time, and all of it comes back.
    for round in 0..2 {
        for number in 20..20 + 66 {
            run(&mut gpu, &mut module, &logging("ordered", number), a).unwrap();
            assert_eq!(gpu.has_log(number), number < 20 + 64);
        }
        gpu.wait().unwrap();
        let numbers: Vec<u64> = gpu.take_logs().iter().map(|log| log.number).collect();
        assert_eq!(numbers, (20..20 + 64).collect::<Vec<u64>>(), "{round}");
    }
    // A fault leaves what was logged before it.
    run(&mut gpu, &mut module, &logging("faulty", 30), a).unwrap();
    gpu.wait().unwrap_err();
    let logs = gpu.take_logs();
    assert_eq!((logs.len(), logs[0].events.len(), logs[0].is_cut), (1, 64, true));
}

#[test]
fn variables_have_shadow() {
    let Some((mut gpu, mut module, _log)) = opened("variables_have_shadow", &[]) else { return };
    let (total, size) = module.variable("total").unwrap();
    assert_eq!(size, 8);
    for (address, racy) in [(total, true), (total + 4, true), (total - 4, false), (total + 8, false)] {
        let before = gpu.counters().unwrap().outside;
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), address).unwrap();
        gpu.wait().unwrap();
        let found = gpu.take_found();
        let outside = gpu.counters().unwrap().outside - before;
        // One hash of instructions is written some times only.
        assert!(found.iter().all(|f| f.address == address));
        assert_eq!(outside, if racy { 0 } else { 64 }, "{}", address.wrapping_sub(total) as i64);
        assert!(racy || found.is_empty());
    }
    assert!(gpu.counters().unwrap().records > 0);
}

#[test]
fn launches_are_ordered_without_clearing() {
    let Some((mut gpu, mut module, log)) = opened("launches_are_ordered_without_clearing", &[]) else {
        return;
    };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 1), a).unwrap();
    let fills = || log.count("fill ");
    let before = fills();
    for _ in 0..100 {
        // Other threads write what the last launch has read.
        run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 4), a).unwrap();
    }
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    assert_eq!(fills(), before);
    assert!(before > 0);
    assert_eq!(gpu.counters().unwrap().next_uid, 401);
}

#[test]
fn no_launch_waits_for_what_runs() {
    let Some((mut gpu, mut module, log)) = opened("no_launch_waits_for_what_runs", &[]) else { return };
    let of = |number, kilobytes: u32| Launch {
        number,
        dynamic_shared: kilobytes << 10,
        ..launch("ordered", Variant::Checked, 1)
    };
    let (a, b) = (gpu.allocate(4096).unwrap(), gpu.allocate(4096).unwrap());
    // SAFETY: the mock's memory is this process's; the kernels that write it run when they are waited for.
    let has_run = || unsafe { (a as *const u32).read_volatile() } != 0;
    run(&mut gpu, &mut module, &of(1, 0), a).unwrap();
    // Blocks of all sizes; memory that has shadow elsewhere, of which each launch has to know; more launches, and copies, than there are cells.
    let mut number = 1;
    for kilobytes in [2, 10, 30, 60, 0] {
        number += 1;
        run(&mut gpu, &mut module, &of(number, kilobytes), b).unwrap();
        let managed = gpu.allocate_managed(4096).unwrap();
        number += 1;
        run(&mut gpu, &mut module, &of(number, 0), managed).unwrap();
    }
    let many = |gpu: &mut Gpu, module: &mut Module, number: &mut u64| {
        for _ in 0..3000 {
            *number += 2;
            run(gpu, module, &of(*number - 1, 0), b).unwrap();
            let touched = [0, 8].map(|at| Touched {
                start: b + at,
                width: 4,
                rows: 1,
                pitch: 0,
                writes: false,
                site: 7,
            });
            gpu.touch(
                module,
                &Transfer { touched: &touched, stream: Stream::DEFAULT, number: *number, unordered: &[] },
            )
            .unwrap();
        }
    };
    many(&mut gpu, &mut module, &mut number);
    assert_eq!((has_run(), log.count("wait for all")), (false, 0));
    assert_eq!(
        (log.count("stream "), log.count("stream non-blocking urgent\n")),
        (1, 1),
        "the backend's own"
    );
    gpu.wait().unwrap();
    assert!(has_run());
    let counters = gpu.counters().unwrap();
    assert_eq!((gpu.take_found(), counters.outside, counters.shared_outside), (vec![], 0, 0));
    // Once they are over, their cells and tables serve others.
    let free = gpu.device().memory().unwrap().0;
    for _ in 0..4 {
        many(&mut gpu, &mut module, &mut number);
        gpu.wait().unwrap();
    }
    assert_eq!(gpu.device().memory().unwrap().0, free);
    // None is forgotten, none comes twice. A thread of the kernel reads and writes once.
    let mut checks = gpu.take_checks();
    checks.sort_unstable();
    assert!(checks.iter().map(|(number, _)| *number).eq(1..=number));
    let launches = checks.iter().filter(|(_, checks)| *checks == 2 * 64).count() as u64;
    assert_eq!(launches, 11 + 5 * 3000);
    assert_eq!(gpu.take_checks(), []);
}

#[test]
fn launches_that_nothing_orders_race() {
    let Some((mut gpu, mut module, _log)) = opened("launches_that_nothing_orders_race", &[]) else { return };
    let mut between = |unordered: &[u64], launches: u64| {
        // A place of its own each time, and launches of its own.
        let a = gpu.allocate(4096).unwrap();
        let first = gpu.counters().unwrap().next_uid + 1;
        let repeated = gpu.counters().unwrap().repeated;
        for number in first..first + launches {
            let unordered: Vec<u64> = if number + 1 == first + launches {
                unordered.iter().map(|n| first + n).collect()
            } else {
                vec![]
            };
            let launch = Launch { number, unordered: &unordered, ..launch("ordered", Variant::Checked, 2) };
            run(&mut gpu, &mut module, &launch, a).unwrap();
        }
        gpu.wait().unwrap();
        let found = gpu.take_found();
        for f in &found {
            assert_eq!((f.relation, f.launch), (3, first + launches - 1), "{f:?}");
            assert!(f.earlier_block < 2 && f.block == f.earlier_block, "each block has its own part: {f:?}");
        }
        let earlier: Vec<u64> = found.iter().map(|f| f.earlier_launch - first).collect();
        let races = found.len() as u64 + gpu.counters().unwrap().repeated - repeated;
        (earlier, races, gpu.untold())
    };
    assert_eq!(between(&[], 2), (vec![], 0, 0));
    // The last of the launches is compared with those alone that it may overlap.
    let (earlier, ..) = between(&[1], 3);
    assert!(!earlier.is_empty() && earlier.iter().all(|&launch| launch == 1), "{earlier:?}");
    assert_eq!(between(&[0], 3).1, 0, "the second was ordered after the first, and before the third");
    // Numbers of no checked launch are those of bare ones, and of copies of memory without shadow; there is room for few, unless they follow each other.
    assert_eq!(between(&[50], 2), (vec![], 0, 0));
    let (_, races, untold) = between(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 10);
    assert!(races > 0 && untold == 0);
    assert_eq!(between(&[0, 2, 4, 6, 8], 10).2, 1);
}

#[test]
fn the_bare_variant_runs_no_check() {
    let Some((mut gpu, mut module, _log)) = opened("the_bare_variant_runs_no_check", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Bare, 2), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!((gpu.take_found(), gpu.take_checks()), (vec![], vec![]));
    let why = run(&mut gpu, &mut module, &launch("missing", Variant::Bare, 1), a).unwrap_err();
    assert_eq!(why, "`cuModuleGetFunction` failed: CUDA_ERROR_NOT_FOUND");
}

#[test]
fn a_fault_leaves_what_was_found() {
    let Some((mut gpu, mut module, _log)) = opened("a_fault_leaves_what_was_found", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("faulty", Variant::Checked, 1), a).unwrap();
    let fault = gpu.wait().unwrap_err();
    assert_eq!(fault.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert!(!gpu.take_found().is_empty());
    assert_eq!(gpu.counters(), None);
    let later = run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap_err();
    assert!(later.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{later}");
}

#[test]
fn without_memory_for_shadow_the_program_goes_on() {
    // 64 MiB: 40 of them leave none for 80 of shadow.
    let Some((mut gpu, mut module, _log)) =
        opened("without_memory_for_shadow_the_program_goes_on", &[("MOCK_MEMORY", "67108864")])
    else {
        return;
    };
    let large = gpu.allocate(40 << 20).unwrap();
    assert_eq!(gpu.memory.uncovered, 40 << 20);
    assert_eq!(gpu.memory.find(large + 5), Some((large, 40 << 20, false)));
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), large).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    let counters = gpu.counters().unwrap();
    assert_eq!(counters.outside, 64, "each access is counted");
    let said = notes(&counters, &LeftOut { uncovered: gpu.memory.uncovered, ..LeftOut::default() });
    assert!(said.iter().any(|n| n.contains("no memory for their shadow")), "{said:?}");
    // What does fit is checked.
    assert!(gpu.memory.free(large).unwrap());
    let small = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), small).unwrap();
    gpu.wait().unwrap();
    assert!(!gpu.take_found().is_empty());
    let too_much = gpu.allocate(1 << 30).unwrap_err();
    assert!(too_much.is_out_of_memory());
}

#[test]
fn where_no_memory_can_be_mapped_the_program_goes_on() {
    let name = "where_no_memory_can_be_mapped_the_program_goes_on";
    let Some((mut gpu, mut module, _log)) = opened(name, &[("MOCK_UNMAPPED", "1")]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 2), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    assert!(gpu.counters().unwrap().outside > 0 && gpu.memory.uncovered >= 4096);
}

#[test]
fn kernels_are_loaded_before_they_run() {
    let Some((mut gpu, mut module, log)) = opened("kernels_are_loaded_before_they_run", &[]) else { return };
    // Those of the checker with the module: the driver might wait for all that runs, later.
    assert_eq!((log.count("ready __gpurace_begin"), log.count("ready __gpurace_touch")), (1, 1));
    let a = gpu.allocate(4096).unwrap();
    for _ in 0..2 {
        run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 1), a).unwrap();
    }
    assert_eq!(log.count("ready "), 3, "{}", log.read());
}

#[test]
fn clusters_may_be_as_wide_as_the_gpu_takes() {
    let Some((mut gpu, mut module, log)) = opened("clusters_may_be_as_wide_as_the_gpu_takes", &[]) else {
        return;
    };
    let a = gpu.allocate(4096).unwrap();
    // More than eight blocks are to be asked for, of each variant.
    for (variant, blocks) in [(Variant::Bare, 8), (Variant::Bare, 16), (Variant::Checked, 16)] {
        run(
            &mut gpu,
            &mut module,
            &Launch { cluster: Some([blocks, 1, 1]), ..launch("ordered", variant, 16) },
            a,
        )
        .unwrap();
        assert_eq!(log.count(&format!("launch clusters of {blocks} ")), 1, "{}", log.read());
        log.clear();
    }
}

#[test]
fn freed_memory_has_no_history() {
    let Some((mut gpu, _module, _log)) = opened("freed_memory_has_no_history", &[]) else { return };
    let a = gpu.allocate(1000).unwrap();
    let b = gpu.allocate(1000).unwrap();
    assert!(a.abs_diff(b) >= 1000);
    assert_eq!(gpu.memory.free(a), Ok(true));
    assert_eq!(gpu.memory.free(a), Ok(false), "freed twice");
    assert_eq!(gpu.allocate(1000), Ok(a));
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
        events: 0,
        variables: &["total", "not_there"],
    };
    assert_eq!(loads(own), (Ok(()), "load CUBIN\n".to_owned()));
    let other = Code { sass: Some((arch(90), b"CUBIN\0")), ..own };
    assert_eq!(loads(other), (Ok(()), "load // PT\n".to_owned()));
    // What does not load gives way to PTX.
    let bad = Code { sass: Some((arch(80), b"broken\0")), ..own };
    assert_eq!(loads(bad), (Ok(()), "load broke\nload // PT\n".to_owned()));
    let newer = Code {
        sass: None,
        ptx: ptx(90),
        orders: false,
        annotated: false,
        events: 0,
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
        events: 0,
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
        let code = Code {
            sass: None,
            ptx: Some((arch(80), text)),
            orders: false,
            annotated: false,
            events: 0,
            variables: &[],
        };
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

#[test]
fn small_allocations_lie_where_textures_may_show_them() {
    let Some((mut gpu, _module, _log)) = opened("small_allocations_lie_where_textures_may_show_them", &[])
    else {
        return;
    };
    let all: Vec<_> = [1, 256, 300, 4].map(|size| gpu.allocate(size).unwrap()).to_vec();
    assert!(all.iter().all(|address| address % 512 == 0), "{all:x?}");
    assert!(all.is_sorted_by(|a, b| a < b) && all[3] - all[0] == 3 * 512, "{all:x?}");
}

#[test]
fn freed_memory_serves_what_comes_later() {
    let Some((mut gpu, mut module, log)) =
        opened("freed_memory_serves_what_comes_later", &[("MOCK_MEMORY", "67108864")])
    else {
        return;
    };
    let unmapped = || log.count("unmap ");
    // A place that is somewhat larger, of small allocations and of large ones.
    for (first, later) in [(2000u64, 1200u64), (4 << 20, 3 << 20)] {
        let a = gpu.allocate(first).unwrap();
        gpu.memory.free(a).unwrap();
        assert_eq!(gpu.allocate(later), Ok(a));
        assert_eq!(gpu.memory.find(a), Some((a, later.next_multiple_of(512), true)));
        // Its history begins anew.
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap();
        gpu.memory.free(a).unwrap();
        assert_eq!(gpu.allocate(first), Ok(a), "all of the place is there again");
        gpu.memory.free(a).unwrap();
        // Not one that is much larger.
        assert_ne!(gpu.allocate(first / 4), Ok(a));
    }
    assert_eq!(unmapped(), 0);
    // 64 MiB have room for one of these with its shadow at a time; each is of another size.
    for size in (8..=14).chain((8..14).rev()) {
        let a = gpu.allocate(size << 20).unwrap();
        assert_eq!(gpu.memory.find(a), Some((a, size << 20, true)), "{size} MiB have shadow");
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap();
        gpu.wait().unwrap();
        gpu.memory.free(a).unwrap();
    }
    assert_eq!(gpu.memory.uncovered, 0);
    assert!(unmapped() > 0);
}

#[test]
fn managed_memory_has_shadow() {
    let Some((mut gpu, mut module, _log)) = opened("managed_memory_has_shadow", &[]) else { return };
    let device = gpu.allocate(4096).unwrap();
    let (total, _) = module.variable("total").unwrap();
    let mut racy = |gpu: &mut Gpu, address| {
        let before = gpu.counters().unwrap();
        run(gpu, &mut module, &launch("racy", Variant::Checked, 1), address).unwrap();
        gpu.wait().unwrap();
        let now = gpu.counters().unwrap();
        let _ = gpu.take_found();
        // Races that are found, whether written or not, and accesses without shadow.
        (now.records + now.repeated > before.records + before.repeated, now.outside - before.outside)
    };
    assert_eq!(racy(&mut gpu, device), (true, 0));
    // The module has run before: its table is made anew.
    let a = gpu.allocate_managed(1000).unwrap();
    let b = gpu.allocate_managed(8).unwrap();
    for address in [a, a + 996, b, b + 4] {
        assert_eq!(racy(&mut gpu, address), (true, 0), "{}", address - a);
    }
    assert_eq!(racy(&mut gpu, b + 8), (false, 64), "behind it");
    gpu.free_managed(a).unwrap();
    assert_eq!(racy(&mut gpu, b), (true, 0));
    gpu.free_managed(b).unwrap();
    assert_eq!(racy(&mut gpu, total), (true, 0));
    // Those that come and go need no more memory than one.
    let mut free = Vec::new();
    for _ in 0..20 {
        let address = gpu.allocate_managed(1000).unwrap();
        assert_eq!(racy(&mut gpu, address), (true, 0));
        gpu.free_managed(address).unwrap();
        free.push(gpu.device().memory().unwrap().0);
    }
    assert!(free[4..].iter().all(|now| *now == free[4]), "{free:?}");
    assert_eq!(racy(&mut gpu, device), (true, 0));
}

#[test]
fn memory_of_the_program_has_shadow_too() {
    let Some((mut gpu, mut module, _log)) = opened("memory_of_the_program_has_shadow_too", &[]) else {
        return;
    };
    let page = 4096;
    let memory = vec![0u64; 8 * page / 8];
    let first = memory.as_ptr().addr().next_multiple_of(page);
    let mut racy = |gpu: &mut Gpu, address: usize| {
        let before = gpu.counters().unwrap();
        run(gpu, &mut module, &launch("racy", Variant::Checked, 1), address as u64).unwrap();
        gpu.wait().unwrap();
        let now = gpu.counters().unwrap();
        let _ = gpu.take_found();
        (now.records + now.repeated > before.records + before.repeated, now.outside - before.outside)
    };
    // The driver refuses pages that it has: two variables of one page, one over what is between, and one that it has as a whole.
    for (start, size) in [
        (first + 100, 4),
        (first + 200, 8),
        (first + 3 * page, page),
        (first + 50, 5 * page),
        (first + page, 4),
    ] {
        gpu.reach_host(start, size).unwrap();
    }
    for at in [0, 100, page, 3 * page + 8, 6 * page - 4] {
        assert_eq!(racy(&mut gpu, first + at), (true, 0), "{at}");
    }
    assert_eq!(racy(&mut gpu, first + 6 * page), (false, 64), "behind it");
}

#[test]
fn copies_race_with_what_they_may_overlap() {
    let Some((mut gpu, mut module, _log)) = opened("copies_race_with_what_they_may_overlap", &[]) else {
        return;
    };
    let mut copy = |gpu: &mut Gpu, number, unordered: &[u64], start, writes| {
        let touched = [Touched { start, width: 8, rows: 1, pitch: 0, writes, site: number as u32 }];
        gpu.touch(&mut module, &Transfer { touched: &touched, stream: Stream::DEFAULT, number, unordered })
            .unwrap();
        gpu.wait().unwrap();
        let sides = |f: &Found| {
            (f.site, f.earlier_site, f.launch, f.earlier_launch, f.address - start, f.earlier_block)
        };
        gpu.take_found().iter().map(sides).collect::<Vec<_>>()
    };
    let (device, managed) = (gpu.allocate(4096).unwrap(), gpu.allocate_managed(1000).unwrap());
    let (variable, _) = Module::variable(&gpu.load(&PTX).unwrap(), "total").unwrap();
    let mut number = 10;
    for place in [device, device + 40, managed + 16, variable] {
        assert_eq!(copy(&mut gpu, number, &[], place, true), []);
        assert_eq!(copy(&mut gpu, number + 1, &[3], place, true), [], "ordered behind it");
        let (site, earlier) = (number as u32 + 2, number as u32 + 1);
        let both = [0, 4].map(|at| (site, earlier, number + 2, number + 1, at, 0));
        assert_eq!(copy(&mut gpu, number + 2, &[number + 1], place, false), both, "the write that was last");
        assert_eq!(copy(&mut gpu, number + 3, &[number + 2], place + 8, true), [], "beside it");
        number += 10;
    }
    // Memory without shadow: nothing is known, no uid is used.
    let uids = gpu.counters().unwrap().next_uid;
    let host = gpurace_cuda::driver::page_locked(64).unwrap() as u64;
    assert_eq!(copy(&mut gpu, number, &[], host, true), []);
    assert_eq!(copy(&mut gpu, number + 1, &[number], host, true), []);
    assert_eq!(gpu.counters().unwrap().next_uid, uids);

    // With launches, before it and after it.
    let launch = |unordered, number| Launch { unordered, number, ..launch("ordered", Variant::Checked, 1) };
    let mut module = gpu.load(&PTX).unwrap();
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch(&[], 1000), a).unwrap();
    let touched = [Touched { start: a, width: 4, rows: 64, pitch: 4, writes: true, site: 7 }];
    gpu.touch(
        &mut module,
        &Transfer { touched: &touched, stream: Stream::DEFAULT, number: 1001, unordered: &[1000] },
    )
    .unwrap();
    gpu.wait().unwrap();
    let found = gpu.take_found();
    assert!(
        !found.is_empty() && found.iter().all(|f| (f.site, f.launch, f.earlier_launch) == (7, 1001, 1000)),
        "{found:?}"
    );
    run(&mut gpu, &mut module, &launch(&[1001], 1002), a).unwrap();
    gpu.wait().unwrap();
    let found = gpu.take_found();
    assert!(
        !found.is_empty() && found.iter().all(|f| (f.launch, f.earlier_launch) == (1002, 1001)),
        "{found:?}"
    );
}
