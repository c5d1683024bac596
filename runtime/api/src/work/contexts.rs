//! Contexts of the driver API. There is one device, and all contexts share its memory and its default
//! stream. The runtime API works in the primary context.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::host::errors::{Error, Result};
use crate::work::Process;

/// The handle of the primary context. It looks like a pointer.
pub const PRIMARY: usize = 0x7000_0000;
/// All flags of `cuCtxCreate`.
const FLAGS: u32 = 0xff;

/// The contexts of the process.
#[derive(Default)]
pub struct Contexts {
    /// `cuInit` was called, or the runtime API was used.
    initialized: AtomicBool,
    /// The runtime API was used, which keeps the primary context.
    runtime: AtomicBool,
    table: Mutex<ContextTable>,
}

#[derive(Default)]
struct ContextTable {
    /// Flags of the live contexts of `cuCtxCreate`, by handle.
    made: HashMap<usize, u32>,
    /// How many were made.
    count: usize,
    /// How often the program has retained the primary context, and its flags.
    retained: u32,
    primary_flags: u32,
}

thread_local! {
    /// The contexts that this thread has pushed. The last one is current.
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// The thread has used the runtime API, which makes the primary context current.
    static RUNTIME: Cell<bool> = const { Cell::new(false) };
    /// The thread is in a function of the driver API.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has used the runtime API.
pub fn runtime_is_used(process: &Process) {
    if INSIDE.try_with(Cell::get).unwrap_or(true) {
        return;
    }
    let _ = RUNTIME.try_with(|used| used.set(true));
    let contexts = &process.contexts;
    if !contexts.runtime.load(Ordering::Relaxed) {
        contexts.runtime.store(true, Ordering::Relaxed);
        contexts.initialized.store(true, Ordering::Relaxed);
    }
}

/// Runs the body of a function of the driver API. It may call functions of the runtime API, which do not
/// count as the program's.
pub fn without_runtime<T>(body: impl FnOnce() -> T) -> T {
    let set = |inside| INSIDE.try_with(|now| now.replace(inside)).unwrap_or(inside);
    let before = set(true);
    let result = body();
    set(before);
    result
}

/// `cuInit`.
pub fn initialize(process: &Process) {
    process.contexts.initialized.store(true, Ordering::Relaxed);
}

/// Succeeds after `cuInit`.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED`.
pub fn check_initialized(process: &Process) -> Result {
    match process.contexts.initialized.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Error::INITIALIZATION_ERROR),
    }
}

/// The current context of this thread, dead or alive.
pub fn current() -> Option<usize> {
    let top = STACK.try_with(|stack| stack.borrow().last().copied()).ok().flatten();
    top.or_else(|| RUNTIME.try_with(Cell::get).unwrap_or(false).then_some(PRIMARY))
}

/// The current context of this thread.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED`, `CUDA_ERROR_INVALID_CONTEXT` if there is none,
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub fn check_current(process: &Process) -> Result<usize> {
    check_initialized(process)?;
    let context = current().ok_or(Error::DEVICE_UNINITIALIZED)?;
    check(process, context).map_err(|_| Error::CONTEXT_IS_DESTROYED)?;
    Ok(context)
}

/// Succeeds for a live context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn check(process: &Process, context: usize) -> Result {
    flags(process, context).map(|_| ())
}

/// The flags of a live context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn flags(process: &Process, context: usize) -> Result<u32> {
    let table = process.contexts.table.lock();
    let flags = match context {
        PRIMARY if table.retained > 0 || process.contexts.runtime.load(Ordering::Relaxed) => {
            Some(table.primary_flags)
        }
        made => table.made.get(&made).copied(),
    };
    flags.ok_or(Error::DEVICE_UNINITIALIZED)
}

/// Makes a context and makes it current.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for unknown flags.
pub fn create(process: &Process, flags: u32) -> Result<usize> {
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let context = {
        let mut table = process.contexts.table.lock();
        let others = table.retained > 0 || !table.made.is_empty();
        note_others(process, others || process.contexts.runtime.load(Ordering::Relaxed));
        table.count += 1;
        let context = PRIMARY + table.count * 16;
        table.made.insert(context, flags);
        context
    };
    push(context);
    Ok(context)
}

/// Notes what several contexts lose. In CUDA each has a default stream, and waits for its own work.
fn note_others(process: &Process, others: bool) {
    if others {
        process.session.note_once(
            "races between several contexts may be missed: default streams and waits of one order the work of all"
                .to_owned(),
        );
    }
}

/// Destroys a context of [`create`].
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub fn destroy(process: &Process, context: usize) -> Result {
    let removed = process.contexts.table.lock().made.remove(&context);
    removed.ok_or(Error::DEVICE_UNINITIALIZED)?;
    if current() == Some(context) {
        pop();
    }
    Ok(())
}

/// Makes a context current, on top of the others.
pub fn push(context: usize) {
    let _ = STACK.try_with(|stack| stack.borrow_mut().push(context));
}

/// Takes the current context off. `None` if there is none.
pub fn pop() -> Option<usize> {
    let top = current()?;
    if STACK.try_with(|stack| stack.borrow_mut().pop()).ok().flatten().is_none() {
        let _ = RUNTIME.try_with(|used| used.set(false));
    }
    Some(top)
}

/// Makes a context current in place of the one that was. 0: no context.
pub fn set(context: usize) {
    pop();
    if context != 0 {
        push(context);
    }
}

/// Retains the primary context. Returns its handle.
pub fn retain_primary(process: &Process) -> usize {
    let mut table = process.contexts.table.lock();
    note_others(process, !table.made.is_empty());
    table.retained += 1;
    PRIMARY
}

/// Releases the primary context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` if it was not retained.
pub fn release_primary(process: &Process) -> Result {
    let mut table = process.contexts.table.lock();
    table.retained = table.retained.checked_sub(1).ok_or(Error::DEVICE_UNINITIALIZED)?;
    Ok(())
}

/// Sets the flags of the primary context.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for unknown flags.
pub fn set_primary_flags(process: &Process, flags: u32) -> Result {
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    process.contexts.table.lock().primary_flags = flags;
    Ok(())
}

/// The flags of the primary context, and whether it is live.
pub fn primary_state(process: &Process) -> (u32, bool) {
    let alive = check(process, PRIMARY).is_ok();
    (process.contexts.table.lock().primary_flags, alive)
}
