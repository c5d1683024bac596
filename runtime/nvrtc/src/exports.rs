//! The exported functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use gpurace_library::registry::{Raw, Registry};
use parking_lot::Mutex;

use crate::program::{Header, Program};
use crate::status::{Outcome, Status};

/// The version of NVRTC that the functions are those of.
const VERSION: [c_int; 2] = [13, 0];

/// The compute capabilities that a program may ask for.
const CAPABILITIES: [c_int; 12] = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

/// `nvrtcProgram`
static PROGRAMS: Registry<Arc<Mutex<Program>>, Status> = Registry::new(Status::INVALID_PROGRAM);

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `NVRTC_ERROR_INVALID_INPUT` for a null pointer.
fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    Status::INVALID_INPUT.unless(unsafe { gpurace_library::export::put(to, value) })
}

/// Writes bytes to the caller's memory, which has room for them.
///
/// # Errors
/// `NVRTC_ERROR_INVALID_INPUT` for a null pointer.
fn put_all(to: *mut c_char, bytes: &[u8]) -> Outcome {
    Status::INVALID_INPUT.unless(!to.is_null())?;
    // SAFETY: the program has asked for the size.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    Ok(())
}

/// The C string at `at`.
///
/// # Errors
/// `NVRTC_ERROR_INVALID_INPUT` for a null pointer.
fn text<'a>(at: *const c_char) -> Outcome<&'a CStr> {
    Status::INVALID_INPUT.unless(!at.is_null())?;
    // SAFETY: the program passes a C string.
    Ok(unsafe { CStr::from_ptr(at) })
}

/// The C strings of an array.
///
/// # Errors
/// `NVRTC_ERROR_INVALID_INPUT` for null pointers and a negative count.
fn texts<'a>(array: *const *const c_char, count: c_int) -> Outcome<Vec<&'a CStr>> {
    let count = usize::try_from(count).map_err(|_| Status::INVALID_INPUT)?;
    Status::INVALID_INPUT.unless(!array.is_null() || count == 0)?;
    // SAFETY: the program passes an array of this size.
    (0..count).map(|i| text(unsafe { *array.add(i) })).collect()
}

fn owned(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Does something with a program.
///
/// # Errors
/// `NVRTC_ERROR_INVALID_PROGRAM` if it is none, and those of `body`.
fn with<R>(program: Raw, body: impl FnOnce(&mut Program) -> Outcome<R>) -> Outcome<R> {
    body(&mut PROGRAMS.get(program)?.lock())
}

/// The log as C has it.
fn log_of(program: &Program) -> Vec<u8> {
    // A nul would end it.
    let text = program.log().replace('\0', " ");
    [text.as_bytes(), b"\0"].concat()
}

/// Returns the name of a result.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: u32) -> *const c_char {
    Status(result).texts().0.as_ptr()
}

gpurace_library::functions! { name:
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) {
        put(major, VERSION[0])?;
        put(minor, VERSION[1])
    }

    fn nvrtcGetNumSupportedArchs(to: *mut c_int) {
        put(to, CAPABILITIES.len() as c_int)
    }

    fn nvrtcGetSupportedArchs(to: *mut c_int) {
        Status::INVALID_INPUT.unless(!to.is_null())?;
        // SAFETY: the program has asked for their number.
        unsafe { std::ptr::copy_nonoverlapping(CAPABILITIES.as_ptr(), to, CAPABILITIES.len()) };
        Ok(())
    }

    fn nvrtcCreateProgram(
        to: *mut Raw,
        source: *const c_char,
        file: *const c_char,
        count: c_int,
        headers: *const *const c_char,
        names: *const *const c_char,
    ) {
        let file = if file.is_null() { "default_program".to_owned() } else { owned(text(file)?) };
        let headers = texts(headers, count)?.into_iter().zip(texts(names, count)?);
        let headers = headers.map(|(text, name)| Header { name: owned(name), text: text.to_bytes().to_vec() });
        let program = Program::new(file, text(source)?.to_bytes().to_vec(), headers.collect());
        Status::INVALID_INPUT.unless(!to.is_null())?;
        put(to, PROGRAMS.create(Arc::new(Mutex::new(program))))
    }

    fn nvrtcDestroyProgram(program: *mut Raw) {
        Status::INVALID_PROGRAM.unless(!program.is_null())?;
        // SAFETY: the program passes null or a valid pointer.
        PROGRAMS.destroy(unsafe { program.read_unaligned() })?;
        put(program, 0)
    }

    fn nvrtcCompileProgram(program: Raw, count: c_int, options: *const *const c_char) {
        let options: Vec<String> = texts(options, count)?.into_iter().map(owned).collect();
        with(program, |program| program.compile(&options))
    }

    fn nvrtcGetPTXSize(program: Raw, to: *mut usize) {
        with(program, |program| put(to, program.compiled()?.text.len()))
    }

    fn nvrtcGetPTX(program: Raw, to: *mut c_char) {
        with(program, |program| put_all(to, &program.compiled()?.text))
    }

    fn nvrtcGetCUBINSize(program: Raw, to: *mut usize) {
        with(program, |program| put(to, program.compiled()?.binary.len()))
    }

    fn nvrtcGetCUBIN(program: Raw, to: *mut c_char) {
        with(program, |program| put_all(to, &program.compiled()?.binary))
    }

    fn nvrtcGetProgramLogSize(program: Raw, to: *mut usize) {
        with(program, |program| put(to, log_of(program).len()))
    }

    fn nvrtcGetProgramLog(program: Raw, to: *mut c_char) {
        with(program, |program| put_all(to, &log_of(program)))
    }

    fn nvrtcAddNameExpression(program: Raw, expression: *const c_char) {
        let expression = owned(text(expression)?);
        with(program, |program| program.ask(expression))
    }

    fn nvrtcGetLoweredName(program: Raw, expression: *const c_char, to: *mut *const c_char) {
        let expression = owned(text(expression)?);
        with(program, |program| put(to, program.lowered(&expression)?.as_ptr()))
    }

    // There is no code for a link at run time, and none for OptiX.
    fn nvrtcGetLTOIRSize | nvrtcGetOptiXIRSize(program: Raw, to: *mut usize) {
        with(program, |program| program.compiled().map(drop))?;
        put(to, 0)
    }

    fn nvrtcGetLTOIR | nvrtcGetOptiXIR(program: Raw, to: *mut c_char) {
        with(program, |program| program.compiled().map(drop))
    }

    // Headers are not compiled in advance.
    fn nvrtcGetPCHHeapSize(to: *mut usize) {
        put(to, 0)
    }

    fn nvrtcSetPCHHeapSize(size: usize) {
        Ok(())
    }

    fn nvrtcGetPCHCreateStatus(program: Raw) {
        PROGRAMS.get(program)?;
        Err(Status::NO_PCH_CREATE_ATTEMPTED)
    }

    fn nvrtcGetPCHHeapSizeRequired(program: Raw, to: *mut usize) {
        PROGRAMS.get(program)?;
        Err(Status::NO_PCH_CREATE_ATTEMPTED)
    }

    // Nothing asks the callback whether to go on.
    fn nvrtcSetFlowCallback(program: Raw, callback: *const c_void, payload: *const c_void) {
        PROGRAMS.get(program).map(drop)
    }
}
