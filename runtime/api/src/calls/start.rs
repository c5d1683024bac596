//! The start of the library, before `main`: reads the options.

use std::sync::OnceLock;

use gpurace_options::{Options, VARIABLE};

use crate::backends::choice;
use crate::calls::ends;
use crate::host::edge::guard;
use crate::host::message;
use crate::session::Session;
use crate::session::finish::{self, FAILED, exit_now};
use crate::session::suppress::Suppressions;
use crate::work::Process;

/// Runs when the library is loaded, before the program's constructors. So the end of the process is
/// handled last, after the program's destructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// The state of this process. It is here because C passes nothing to the exported functions. They
/// pass it on.
static PROCESS: OnceLock<Process> = OnceLock::new();

/// The state of this process. The start makes it. A preloaded library may call before: it finds the
/// program's options, and gets an error from calls that need the device.
pub(crate) fn process() -> &'static Process {
    PROCESS.get_or_init(|| Process::new(session()))
}

/// Makes the state of the process, and registers the end of the process.
pub extern "C" fn start() {
    guard("start", (), || {
        let session = &process().session;
        choice::prepare(session);
        ends::prepare();
        finish::at_end_of_process(session);
    });
}

/// A session with the options of the environment. Wrong options end the process.
fn session() -> Session {
    if gpurace_options::is_privileged() && std::env::var_os(VARIABLE).is_some() {
        message::note(&format!("`{VARIABLE}` is ignored: the program has rights that its user lacks"));
    }
    let options = Options::from_env().unwrap_or_else(|error| {
        message::error(&error.to_string());
        message::hint("`GPURACE_OPTIONS=help=1` lists every option");
        exit_now(FAILED)
    });
    if options.help {
        print_help();
    }
    let suppressions = options.suppressions.as_deref().map(Suppressions::read);
    let suppressions = suppressions.transpose().unwrap_or_else(|error| {
        message::error(&error);
        exit_now(FAILED)
    });
    Session::new(options, suppressions.unwrap_or_default())
}

fn print_help() {
    use std::io::Write;
    // If standard error is closed, there is no other place for the text.
    let _ = std::io::stderr().write_all(gpurace_options::help_text().as_bytes());
}
