//! A line on the terminal that changes in place. Its writer takes it away before the program goes on.
//!
//! It stands below the cursor, and the cursor stays where the program has left it. So it covers no line that the
//! program has begun. Whatever else this library writes erases it first. The crate `indicatif` draws in the row of the
//! cursor, and erases that row.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// The most time to wait for another thread that writes. A signal may have interrupted this thread as it wrote.
const MOST_WAIT: Duration = Duration::from_millis(500);
/// Columns if the terminal does not tell.
const COLUMNS: usize = 80;

/// True while the line may be on the terminal.
static SHOWN: AtomicBool = AtomicBool::new(false);
/// The process that shows it: a forked child erases nothing.
static OWNER: AtomicU32 = AtomicU32::new(0);
static WRITING: Mutex<()> = Mutex::new(());

/// Shows this text, in place of the last one, if `wanted` is still true once a later [`erase`] would find it.
pub fn show(text: &str, wanted: impl FnOnce() -> bool) {
    let Some(_writing) = WRITING.try_lock_for(MOST_WAIT) else { return };
    OWNER.store(std::process::id(), Ordering::Relaxed);
    let was_shown = SHOWN.swap(true, Ordering::SeqCst);
    if wanted() {
        write(&drawn(text, columns()));
    } else {
        SHOWN.store(was_shown, Ordering::SeqCst);
    }
}

/// Takes the line away if it is shown.
pub fn erase() {
    if !SHOWN.load(Ordering::SeqCst) || OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    let Some(_writing) = WRITING.try_lock_for(MOST_WAIT) else { return };
    if SHOWN.swap(false, Ordering::SeqCst) {
        // From the cursor to the end of the screen.
        write("\x1b[J");
    }
}

/// What draws the text: make room for a row below the cursor, keep the cursor's place, write, go back there.
fn drawn(text: &str, columns: usize) -> String {
    // A terminal may begin a new row after the last column.
    let text: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("\x1bD\x1bM\x1b7\x1bD\r\x1b[2K{text}\x1b8")
}

/// Columns of the terminal.
fn columns() -> usize {
    // SAFETY: all fields may be zero, and the call writes a size.
    let columns = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size);
        size.ws_col
    };
    if columns == 0 { COLUMNS } else { columns.into() }
}

/// Writes to standard error. A terminal that is gone needs no line.
fn write(text: &str) {
    // SAFETY: the bytes are readable.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_fits_one_row() {
        assert_eq!(drawn("abcdef", 4), "\x1bD\x1bM\x1b7\x1bD\r\x1b[2Kabc\x1b8");
        assert_eq!(drawn("ab", 80), "\x1bD\x1bM\x1b7\x1bD\r\x1b[2Kab\x1b8");
        assert_eq!(drawn("ab", 0), "\x1bD\x1bM\x1b7\x1bD\r\x1b[2K\x1b8");
    }
}
