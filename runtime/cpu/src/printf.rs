//! Device-side `printf`: formats CUDA's packed argument buffer by the host's C library, one
//! conversion at a time.
//!
//! The buffer holds the promoted arguments as a C structure does: each aligned to its size, 4 or 8
//! bytes, `float` as `double`.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

/// The type of the argument that a conversion takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentType {
    Int,
    Long,
    Double,
    Pointer,
    Text,
}

/// Length and argument of the conversion that `text` begins with.
fn conversion(text: &[u8]) -> Option<(usize, ArgumentType)> {
    let mut long = false;
    for (i, c) in text.strip_prefix(b"%")?.iter().enumerate() {
        let kind = match c {
            b'-' | b'+' | b' ' | b'#' | b'0'..=b'9' | b'.' | b'h' | b'*' => continue,
            b'l' | b'z' | b'j' | b't' => {
                long = true;
                continue;
            }
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' if long => ArgumentType::Long,
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' => ArgumentType::Int,
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => ArgumentType::Double,
            b'p' => ArgumentType::Pointer,
            b's' => ArgumentType::Text,
            _ => return None,
        };
        return Some((i + 2, kind));
    }
    None
}

/// Reads the packed arguments.
struct Arguments {
    next: *const u8,
    taken: i32,
}

impl Arguments {
    /// The next argument of type `T`, whose alignment is its size.
    unsafe fn take<T: Copy>(&mut self) -> T {
        let at = self.next.wrapping_add(self.next.align_offset(size_of::<T>()));
        self.next = at.wrapping_add(size_of::<T>());
        self.taken += 1;
        // SAFETY: the caller's buffer holds the arguments of its format.
        unsafe { at.cast::<T>().read_unaligned() }
    }
}

/// Formats into `out`. Returns the number of arguments that it took.
///
/// # Safety
/// `format` is a C string, `args` the packed arguments that it asks for.
pub(crate) unsafe fn format(format: *const c_char, args: *const u8, out: &mut Vec<u8>) -> i32 {
    // SAFETY: the caller's.
    let mut rest = unsafe { CStr::from_ptr(format) }.to_bytes();
    let mut args = Arguments { next: args, taken: 0 };
    while let [first, after @ ..] = rest {
        if let Some((len, kind)) = conversion(rest) {
            // SAFETY: the buffer holds the arguments, of the kinds that the conversion names.
            unsafe { put(out, &rest[..len], kind, &mut args) };
            rest = &rest[len..];
        } else {
            // A `%` that begins no conversion is copied, as CUDA does.
            out.push(*first);
            rest = rest.strip_prefix(b"%%").unwrap_or(after);
        }
    }
    args.taken
}

/// Appends one conversion, formatted by `snprintf`.
///
/// # Safety
/// The arguments are those that the conversion takes.
unsafe fn put(out: &mut Vec<u8>, conversion: &[u8], kind: ArgumentType, args: &mut Arguments) {
    let mut text = Vec::new();
    for &c in conversion {
        // SAFETY: the caller's.
        match (c == b'*').then(|| unsafe { args.take::<c_int>() }) {
            None => text.push(c),
            // A negative precision counts as none.
            Some(..0) if text.last() == Some(&b'.') => _ = text.pop(),
            Some(number) => text.extend(number.to_string().bytes()),
        }
    }
    text.push(0);
    // SAFETY: the caller's.
    let argument =
        unsafe { if kind == ArgumentType::Int { args.take::<u32>().into() } else { args.take::<u64>() } };
    let print = |buffer: &mut [u8]| {
        let (to, len, text) = (buffer.as_mut_ptr().cast(), buffer.len(), text.as_ptr().cast());
        // SAFETY: the text takes one argument of this type; `to` has `len` bytes.
        let wanted = unsafe {
            match kind {
                ArgumentType::Int => libc::snprintf(to, len, text, argument as c_int),
                ArgumentType::Long => libc::snprintf(to, len, text, argument),
                ArgumentType::Double => libc::snprintf(to, len, text, f64::from_bits(argument)),
                ArgumentType::Text if argument == 0 => libc::snprintf(to, len, text, c"(null)".as_ptr()),
                ArgumentType::Pointer | ArgumentType::Text => libc::snprintf(
                    to,
                    len,
                    text,
                    std::ptr::with_exposed_provenance::<c_char>(argument as usize),
                ),
            }
        };
        usize::try_from(wanted).unwrap_or(0)
    };
    let mut buffer = vec![0; 128];
    let len = print(&mut buffer);
    if len >= buffer.len() {
        buffer.resize(len + 1, 0);
        print(&mut buffer);
    }
    out.extend_from_slice(&buffer[..len]);
}

unsafe extern "C" {
    /// The C library's standard output: the host program's own buffer, so
    /// that device and host output keep their order.
    static stdout: *mut libc::FILE;
}

/// What is called before device code writes to standard output or standard error.
static BEFORE_OUTPUT: OnceLock<fn()> = OnceLock::new();

/// Calls `prepare` before device code writes to standard output or standard error. The first call counts.
pub fn before_output(prepare: fn()) {
    BEFORE_OUTPUT.get_or_init(|| prepare);
}

/// Prepares for output of device code.
pub(crate) fn prepare_output() {
    if let Some(prepare) = BEFORE_OUTPUT.get() {
        prepare();
    }
}

/// Writes to the host program's standard output.
pub(crate) fn to_stdout(bytes: &[u8]) {
    prepare_output();
    // SAFETY: `stdout` is the C library's, which locks it.
    unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs arguments as clang does for `vprintf`.
    #[derive(Default)]
    struct Packed(Vec<u8>);

    impl Packed {
        fn push(mut self, bytes: &[u8]) -> Self {
            self.0.resize(self.0.len().next_multiple_of(bytes.len()), 0);
            self.0.extend_from_slice(bytes);
            self
        }
        fn int(self, v: i32) -> Self {
            self.push(&v.to_ne_bytes())
        }
        fn long(self, v: i64) -> Self {
            self.push(&v.to_ne_bytes())
        }
        fn double(self, v: f64) -> Self {
            self.push(&v.to_ne_bytes())
        }
        fn format(&self, f: &CStr) -> (String, i32) {
            // The buffer is 8-aligned, as the device's local memory is.
            let mut aligned = vec![0u64; self.0.len() / 8 + 1];
            // SAFETY: `aligned` is as large as the bytes; the format fits them.
            let (out, n) = unsafe {
                std::ptr::copy_nonoverlapping(self.0.as_ptr(), aligned.as_mut_ptr().cast(), self.0.len());
                let mut out = Vec::new();
                let n = format(f.as_ptr(), aligned.as_ptr().cast(), &mut out);
                (out, n)
            };
            (String::from_utf8(out).expect("text"), n)
        }
    }

    macro_rules! libc_says {
        ($f:expr, $($arg:expr),*) => {{
            let mut buffer = [0u8; 600];
            // SAFETY: the arguments fit the format.
            let n = unsafe {
                libc::snprintf(buffer.as_mut_ptr().cast(), buffer.len(), $f.as_ptr(), $($arg),*)
            };
            String::from_utf8(buffer[..n as usize].to_vec()).expect("text")
        }};
    }

    #[test]
    fn conversions_agree_with_libc() {
        let f = c"%d|%5i|%-6u|%#x|%08X|%o|%c|%+d|%%";
        let got = Packed::default()
            .int(-3)
            .int(42)
            .int(7)
            .int(255)
            .int(0xbeef)
            .int(8)
            .int('z' as i32)
            .int(5)
            .format(f);
        let want = libc_says!(
            f,
            -3 as c_int,
            42 as c_int,
            7 as c_int,
            255 as c_int,
            0xbeef as c_int,
            8 as c_int,
            'z' as c_int,
            5 as c_int
        );
        assert_eq!(got, (want, 8));
    }

    #[test]
    fn wide_arguments_are_aligned_after_narrow_ones() {
        let f = c"%d %ld %d %lld %hd %zu %f %d %.3e %g %a %p";
        let got = Packed::default()
            .int(1)
            .long(-(1 << 40))
            .int(2)
            .long(1 << 50)
            .int(3)
            .long(77)
            .double(1.5)
            .int(4)
            .double(12345.678)
            .double(1e-9)
            .double(0.1)
            .long(0x1234)
            .format(f);
        let want = libc_says!(
            f,
            1 as c_int,
            -(1i64 << 40),
            2 as c_int,
            1i64 << 50,
            3 as c_int,
            77i64,
            1.5f64,
            4 as c_int,
            12345.678f64,
            1e-9f64,
            0.1f64,
            0x1234 as *const u8
        );
        assert_eq!(got, (want, 12));
    }

    #[test]
    fn text_stars_and_long_output() {
        let s = c"race".as_ptr();
        let f = c"[%s] [%10s] [%-8s] [%.2s] [%*d] [%.*f]";
        let p = s as i64;
        let got =
            Packed::default().long(p).long(p).long(p).long(p).int(6).int(9).int(2).double(2.71).format(f);
        let want = libc_says!(f, s, s, s, s, 6 as c_int, 9 as c_int, 2 as c_int, 2.71f64);
        assert_eq!(got, (want, 8));
        let (long, _) = Packed::default().int(7).format(c"%500d");
        assert_eq!(long, format!("{:500}", 7));
    }

    #[test]
    fn what_is_no_conversion_is_copied() {
        assert_eq!(Packed::default().format(c"100%, %q"), ("100%, %q".into(), 0));
        assert_eq!(Packed::default().format(c"no arguments"), ("no arguments".into(), 0));
        assert_eq!(Packed::default().long(0).format(c"%s").0, "(null)");
    }
}
