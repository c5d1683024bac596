//! Digests of a device thread's stack frames: of its private state, and of the calls that led to a place. To tell
//! calls of a kernel from others, this module also finds the code around a function.

/// Bytes of stack that a digest covers: the innermost stack frames.
const WINDOW: usize = 4096;

/// The words from `frame` to `top`, at most [`WINDOW`] bytes.
///
/// # Safety
/// The stack is readable from `frame`, which is 8-aligned, to `top`.
unsafe fn words<'a>(frame: *const u64, top: usize) -> &'a [u64] {
    let bytes = top.saturating_sub(frame.addr()).min(WINDOW);
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(frame, bytes / 8) }
}

/// Adds a word to a digest (the multiplier of `FxHash`).
fn mix(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// A digest of a thread's private state, never 0. It is the same before and after an iteration of a
/// loop that only reads memory.
///
/// # Safety
/// As [`words`].
pub(crate) unsafe fn digest(frame: *const u64, top: usize) -> u64 {
    // SAFETY: the caller's.
    let words = unsafe { words(frame, top) };
    words.iter().fold(words.len() as u64, |d, &w| mix(d, w)) | 1
}

/// A digest of the calls that led here: the return address at `returns`, and those of the functions above it in
/// `code` (start and size). Code that asks for it keeps frame pointers: `frame` is that of the innermost function,
/// and each leads to the next one below a return address.
///
/// # Safety
/// The stack is readable from `returns`, which is 8-aligned, to `top`.
pub(crate) unsafe fn call_chain(
    returns: *const u64,
    mut frame: usize,
    top: usize,
    code: (usize, usize),
) -> u64 {
    // SAFETY: the caller's; each word that is read lies between `returns` and `top`.
    unsafe {
        let mut chain = mix(0, *returns);
        let mut below = returns.addr();
        while frame > below && frame.is_multiple_of(8) && frame + 16 <= top {
            let words = returns.with_addr(frame);
            let (next, address) = (*words as usize, *words.add(1));
            if (address as usize).wrapping_sub(code.0) >= code.1 {
                break;
            }
            chain = mix(chain, address);
            (below, frame) = (frame, next);
        }
        chain
    }
}

/// Returns start and size of the executable segment that holds `function`, or zeros if there is none.
pub fn code_around(function: usize) -> (usize, usize) {
    struct Search {
        function: usize,
        found: (usize, usize),
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        search: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid object; `search` is the caller's.
        unsafe {
            let search = &mut *search.cast::<Search>();
            let info = &*info;
            for i in 0..usize::from(info.dlpi_phnum) {
                let segment = &*info.dlpi_phdr.add(i);
                let start = info.dlpi_addr as usize + segment.p_vaddr as usize;
                let len = segment.p_memsz as usize;
                if segment.p_type == libc::PT_LOAD
                    && segment.p_flags & libc::PF_X != 0
                    && search.function.wrapping_sub(start) < len
                {
                    search.found = (start, len);
                    return 1;
                }
            }
            0
        }
    }
    let mut search = Search { function, found: (0, 0) };
    // SAFETY: `visit` has the expected signature, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_around_a_function_holds_it() {
        let here = the_code_around_a_function_holds_it as fn() as usize;
        let (start, len) = code_around(here);
        assert!((start..start + len).contains(&here));
        assert_eq!(code_around(8), (0, 0));
    }

    #[test]
    fn a_call_chain_follows_frame_pointers() {
        // A return address, a stale one, the caller's frame, that of its caller, and one outside of the code.
        let mut stack = [100u64, 101, 0, 102, 0, 7];
        let start = stack.as_ptr().addr();
        stack[2] = start as u64 + 32;
        let of = |stack: &[u64; 6]| {
            // SAFETY: the array is readable to its end.
            unsafe { call_chain(stack.as_ptr(), start + 16, start + 48, (100, 10)) }
        };
        let chain = of(&stack);
        assert_eq!(chain, mix(mix(0, 100), 102));
        stack[1] = 105;
        assert_eq!(of(&stack), chain, "a stale word is no call");
        stack[5] = 8;
        assert_eq!(of(&stack), chain, "nor is the runtime's");
        stack[3] = 103;
        assert_ne!(of(&stack), chain);
    }

    #[test]
    fn digests_see_each_word() {
        let mut stack = [1u64, 2, 3, 4];
        let top = stack.as_ptr_range().end.addr();
        let of = |stack: &[u64; 4]| {
            // SAFETY: the array is readable to its end.
            unsafe { digest(stack.as_ptr(), top) }
        };
        let before = of(&stack);
        assert_eq!(of(&stack), before);
        stack[3] = 5;
        assert_ne!(of(&stack), before);
    }
}
