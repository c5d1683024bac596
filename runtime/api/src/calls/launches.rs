//! Launches: `<<<...>>>`, `cudaLaunchKernel` and its variants. They learn their caller's address.

use std::arch::naked_asm;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;

use crate::calls::export::{api, enter};
use crate::calls::start::process;
use crate::host::edge::{get, put};
use crate::host::errors::Error;
use crate::host::stack::CallSite;
use crate::host::types::{cudaLaunchConfig_t, cudaStream_t, dim3};
use crate::work::launches::{LaunchAttributes, LaunchRequest, launch, read_attributes};
use crate::work::streams::with_own_default;

/// The part of a launch between `<<<` and `>>>`.
#[derive(Clone, Copy)]
struct CallConfiguration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
    call_site: CallSite,
}

thread_local! {
    /// Never dropped: destructors of static objects may launch, after those of thread-locals.
    static PUSHED: RefCell<ManuallyDrop<Vec<CallConfiguration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// The call site of the launch whose configuration was popped last.
    static POPPED_SITE: Cell<Option<CallSite>> = const { Cell::new(None) };
}

/// The call site of the `<<<...>>>` if its stub makes this call, otherwise the caller's.
fn call_site(caller: CallSite) -> CallSite {
    POPPED_SITE.try_with(Cell::take).ok().flatten().unwrap_or(caller)
}

/// `__cudaPushCallConfiguration`: keeps the part of a launch between `<<<` and `>>>`.
///
/// # Safety
/// To be called as C does.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
) -> u32 {
    // The arguments fill all six registers. The return address follows on the stack.
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp]",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {push}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        push = sym push_configuration,
    )
}

extern "C" fn push_configuration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
    call_site: CallSite,
) -> u32 {
    let configuration = CallConfiguration { grid, block, shared, stream, call_site };
    enter("__cudaPushCallConfiguration", true, |_| {
        PUSHED.with(|pushed| pushed.borrow_mut().push(configuration));
        Ok(())
    })
    .0
}

api! { process;
    @always fn __cudaPopCallConfiguration(grid: *mut dim3, block: *mut dim3, shared: *mut usize, stream: *mut cudaStream_t) {
        let popped = PUSHED.with(|pushed| {
            let mut pushed = pushed.borrow_mut();
            let popped = pushed.pop();
            if pushed.is_empty() {
                // Nobody frees it when the thread ends.
                **pushed = Vec::new();
            }
            popped
        });
        let popped = popped.ok_or(Error::MISSING_CONFIGURATION)?;
        let _ = POPPED_SITE.try_with(|site| site.set(Some(popped.call_site)));
        put(grid, popped.grid)?;
        put(block, popped.block)?;
        put(shared, popped.shared)?;
        put(stream, popped.stream)
    }
}

/// Defines functions that launch. They pass on their return address.
macro_rules! launches {
    ($($name:ident = $launch:path;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA Runtime API.")]
        ///
        /// # Safety
        /// To be called as C does. `args` has a valid pointer for each parameter.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            stub: *const c_void,
            grid: dim3,
            block: dim3,
            args: *mut *mut c_void,
            shared: usize,
            stream: cudaStream_t,
        ) -> Error {
            // The first four arguments stay in their registers. The last two are on the stack and
            // are pushed again, with the return address behind them.
            naked_asm!(
                ".cfi_startproc",
                "mov rax, [rsp]",
                "mov r10, [rsp + 16]",
                "mov r11, [rsp + 8]",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "push r10",
                ".cfi_adjust_cfa_offset 8",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                "call {launch}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                launch = sym $launch,
            )
        }
    )*};
}

// Where a name ends with `_ptsz`, the null stream is the host thread's own.
launches! {
    cudaLaunchKernel = launch_kernel::<false, false>;
    cudaLaunchKernel_ptsz = launch_kernel::<false, true>;
    cudaLaunchCooperativeKernel = launch_kernel::<true, false>;
    cudaLaunchCooperativeKernel_ptsz = launch_kernel::<true, true>;
}

/// The body of the functions that launch.
extern "C" fn launch_kernel<const COOPERATIVE: bool, const OWN_DEFAULT: bool>(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
    caller: CallSite,
) -> Error {
    let name = if COOPERATIVE { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };
    let run = || {
        enter(name, false, |process| {
            let cooperative = COOPERATIVE;
            let call_site = call_site(caller);
            let cluster = None;
            let request =
                LaunchRequest { stub, grid, block, shared, stream, args, cooperative, cluster, call_site };
            // SAFETY: the caller keeps the contract of the C function.
            unsafe { launch(process, &request) }
        })
    };
    if OWN_DEFAULT { with_own_default(process(), run) } else { run() }
}

/// Defines functions that launch with a configuration. They pass on their return address.
macro_rules! configured_launches {
    ($($name:ident = $launch:path;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA Runtime API.")]
        ///
        /// # Safety
        /// As [`cudaLaunchKernel`]. `config` and its attributes are valid.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            config: *const cudaLaunchConfig_t,
            stub: *const c_void,
            args: *mut *mut c_void,
        ) -> Error {
            naked_asm!("mov rcx, [rsp]", "jmp {launch}", launch = sym $launch)
        }
    )*};
}

configured_launches! {
    cudaLaunchKernelExC = launch_ex::<false>;
    cudaLaunchKernelExC_ptsz = launch_ex::<true>;
}

extern "C" fn launch_ex<const OWN_DEFAULT: bool>(
    config: *const cudaLaunchConfig_t,
    stub: *const c_void,
    args: *mut *mut c_void,
    caller: CallSite,
) -> Error {
    let run = || {
        enter("cudaLaunchKernelExC", false, |process| {
            // SAFETY: the caller keeps the contract of the C function.
            let config = unsafe { get(config) }?;
            // SAFETY: as above.
            let LaunchAttributes { cooperative, cluster } = unsafe { read_attributes(process, config) }?;
            let request = LaunchRequest {
                stub,
                grid: config.gridDim,
                block: config.blockDim,
                shared: config.dynamicSmemBytes,
                stream: config.stream,
                args,
                cooperative,
                cluster,
                call_site: call_site(caller),
            };
            // SAFETY: as above.
            unsafe { launch(process, &request) }
        })
    };
    if OWN_DEFAULT { with_own_default(process(), run) } else { run() }
}
