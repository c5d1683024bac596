//! How an exported function is written: its name, its results, and that no panic leaves it.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The C string of a text that ends with its one zero byte. Empty for another text.
pub const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// Prints what a function cannot do.
pub fn say(name: &CStr, what: &str) {
    eprintln!("gpurace: `{}`: {what}", name.to_string_lossy());
}

/// Runs the body of an exported function. After a panic, which it says, it returns `broken`.
pub fn guard<T>(name: &CStr, broken: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        say(name, "internal error");
        broken
    })
}

/// Writes a result through the caller's pointer. False for a null pointer.
///
/// # Safety
/// The pointer is null or valid for a write.
pub unsafe fn put<T>(to: *mut T, value: T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: by the contract above.
    unsafe { to.write_unaligned(value) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_needs_its_zero_byte() {
        assert_eq!(c_text("a\0"), c"a");
        assert_eq!(c_text("a"), c"");
        assert_eq!(c_text("a\0b\0"), c"");
    }

    #[test]
    fn no_panic_leaves_a_function() {
        assert_eq!(guard(c"f", 1, || 2), 2);
        assert_eq!(guard(c"f", 1, || panic!("on purpose")), 1);
    }

    #[test]
    fn nothing_is_written_through_a_null_pointer() {
        let mut value = 0;
        // SAFETY: null or valid.
        unsafe {
            assert!(put(&raw mut value, 7));
            assert!(!put(std::ptr::null_mut(), 7));
        }
        assert_eq!(value, 7);
    }
}
