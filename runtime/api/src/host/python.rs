//! The Python frames of this thread, if the process has a Python interpreter: by the interpreter's own functions, which
//! are looked up when they are needed. This library is not linked with Python.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// A frame of Python code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PythonFrame {
    /// The source file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function, by its qualified name if the interpreter knows it.
    pub function: String,
}

/// The most frames that are looked at.
const MOST_FRAMES: usize = 128;
/// The most frames that are kept.
const MOST_KEPT: usize = 8;

/// An object of Python.
type Object = *mut c_void;

/// Defines the functions of the interpreter that are used here, and how they are looked up.
macro_rules! interpreter {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case, reason = "these are the names in Python's API")]
        struct Interpreter {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Interpreter {
            /// The functions; `None` if one of them is not in this process.
            fn find() -> Option<Self> {
                // SAFETY: only looks names up. Each has had this type since Python 3.9.
                unsafe {
                    Some(Self {
                        $($name: {
                            let name = concat!(stringify!($name), "\0").as_ptr().cast::<c_char>();
                            let found = libc::dlsym(libc::RTLD_DEFAULT, name);
                            if found.is_null() {
                                return None;
                            }
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found)
                        },)*
                    })
                }
            }
        }
    };
}

interpreter! {
    Py_IsInitialized: fn() -> c_int;
    PyGILState_Check: fn() -> c_int;
    PyGILState_GetThisThreadState: fn() -> *mut c_void;
    PyGILState_Ensure: fn() -> c_int;
    PyGILState_Release: fn(c_int);
    PyErr_Occurred: fn() -> Object;
    PyErr_Clear: fn();
    PyEval_GetFrame: fn() -> Object;
    PyFrame_GetBack: fn(Object) -> Object;
    PyFrame_GetCode: fn(Object) -> Object;
    PyFrame_GetLineNumber: fn(Object) -> c_int;
    PyObject_GetAttrString: fn(Object, *const c_char) -> Object;
    PyUnicode_AsUTF8: fn(Object) -> *const c_char;
    Py_IncRef: fn(Object);
    Py_DecRef: fn(Object);
}

/// The Python frames that led here, the innermost first, without those of Python's own library and of installed
/// packages. Empty if this thread runs no Python code.
///
/// No lock may be held: if the caller has let go of the interpreter's lock, as `ctypes` does, this takes it.
pub fn frames() -> Vec<PythonFrame> {
    // An interpreter may be loaded later, but not taken out again.
    static INTERPRETER: OnceLock<Interpreter> = OnceLock::new();
    let python = match INTERPRETER.get() {
        Some(python) => python,
        None => match Interpreter::find() {
            Some(python) => INTERPRETER.get_or_init(|| python),
            None => return Vec::new(),
        },
    };
    // SAFETY: these may be called without the interpreter's lock. A thread with a state is one of Python's, which has
    // let go of the lock and is in a call from Python. So it may take the lock.
    unsafe {
        if (python.Py_IsInitialized)() == 0 || is_finalizing() {
            return Vec::new();
        }
        if (python.PyGILState_Check)() == 1 {
            return folded(python.frames());
        }
        if (python.PyGILState_GetThisThreadState)().is_null() {
            return Vec::new();
        }
        let state = (python.PyGILState_Ensure)();
        let frames = python.frames();
        (python.PyGILState_Release)(state);
        folded(frames)
    }
}

/// True while the interpreter ends: a thread that takes its lock would be ended.
fn is_finalizing() -> bool {
    // The name since 3.13, and the one before.
    [c"Py_IsFinalizing", c"_Py_IsFinalizing"].into_iter().any(|name| {
        // SAFETY: looks a name up. The function takes nothing and needs no lock.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            !found.is_null()
                && std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(found)() != 0
        }
    })
}

impl Interpreter {
    /// The frames of this thread, the innermost first.
    ///
    /// # Safety
    /// The thread holds the interpreter's lock.
    unsafe fn frames(&self) -> Vec<PythonFrame> {
        let mut frames = Vec::new();
        // SAFETY: the caller's; each object is released once.
        unsafe {
            // What follows would overwrite an exception.
            if !(self.PyErr_Occurred)().is_null() {
                return frames;
            }
            let mut frame = (self.PyEval_GetFrame)();
            if !frame.is_null() {
                (self.Py_IncRef)(frame);
            }
            while !frame.is_null() {
                if frames.len() < MOST_FRAMES {
                    frames.extend(self.frame(frame));
                }
                let back = (self.PyFrame_GetBack)(frame);
                (self.Py_DecRef)(frame);
                frame = back;
            }
        }
        frames
    }

    /// What is shown of a frame.
    ///
    /// # Safety
    /// As [`Self::frames`]; the frame is live.
    unsafe fn frame(&self, frame: Object) -> Option<PythonFrame> {
        // SAFETY: the caller's.
        unsafe {
            let line = u32::try_from((self.PyFrame_GetLineNumber)(frame)).ok().filter(|&line| line > 0);
            let code = (self.PyFrame_GetCode)(frame);
            let file = self.text(code, c"co_filename");
            let function = self.text(code, c"co_qualname").or_else(|| self.text(code, c"co_name"));
            (self.Py_DecRef)(code);
            Some(PythonFrame { file: file?, line: line?, function: function? })
        }
    }

    /// An attribute that is a string.
    ///
    /// # Safety
    /// As [`Self::frames`]; the object is live.
    unsafe fn text(&self, object: Object, name: &CStr) -> Option<String> {
        // SAFETY: the caller's; the text lives as long as its object.
        unsafe {
            let value = (self.PyObject_GetAttrString)(object, name.as_ptr());
            if value.is_null() {
                (self.PyErr_Clear)();
                return None;
            }
            let bytes = (self.PyUnicode_AsUTF8)(value);
            let text = if bytes.is_null() {
                (self.PyErr_Clear)();
                None
            } else {
                Some(CStr::from_ptr(bytes).to_string_lossy().into_owned())
            };
            (self.Py_DecRef)(value);
            text
        }
    }
}

/// Leaves out frames of Python's library and of installed packages. If there are no others, the innermost stays.
fn folded(frames: Vec<PythonFrame>) -> Vec<PythonFrame> {
    let is_system = |frame: &PythonFrame| {
        let parts = ["/site-packages/", "/dist-packages/", "/lib/python3"];
        frame.file.starts_with('<') || parts.iter().any(|part| frame.file.contains(part))
    };
    let first = frames.first().cloned();
    let kept: Vec<_> = frames.into_iter().filter(|frame| !is_system(frame)).take(MOST_KEPT).collect();
    if kept.is_empty() { first.into_iter().collect() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str) -> PythonFrame {
        PythonFrame { file: file.to_owned(), line: 1, function: "f".to_owned() }
    }

    #[test]
    fn frames_of_libraries_are_left_out() {
        let [user, test] = ["/home/u/train.py", "tests/test_a.py"].map(frame);
        let libraries = [
            "/usr/lib/python3.11/runpy.py",
            "/venv/lib/python3.12/site-packages/torch/nn.py",
            "<frozen runpy>",
        ];
        let all: Vec<_> = libraries.into_iter().map(frame).collect();
        let mixed = [&all[..], std::slice::from_ref(&user), &all[..1], std::slice::from_ref(&test)].concat();
        assert_eq!(folded(mixed), [user, test]);
        assert_eq!(folded(all.clone()), all[..1]);
        assert_eq!(folded(Vec::new()), []);
    }

    #[test]
    fn a_process_without_python_has_no_frames() {
        assert_eq!(frames(), []);
    }
}
