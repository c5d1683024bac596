//! A forked child, which computes something from a copy of this process's memory and sends the result back. Its parent
//! does not see what the child does to memory. A waiting child answers questions, until it is dropped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use libc::c_int;

/// The signals that device code raises itself.
const SYNCHRONOUS: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// A forked child.
pub struct Child {
    id: libc::pid_t,
    from: File,
}

/// A forked child that waits for questions. Dropping it ends it.
pub struct WaitingChild {
    id: libc::pid_t,
    to: UnixStream,
}

/// The number of threads of this process; `None` if the system does not say.
pub fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// Succeeds if this process may fork. `own` threads of the process are the runtime's, and idle.
///
/// # Errors
/// The reason why it must not fork.
pub fn may_fork(own: usize) -> Result<(), &'static str> {
    if threads().is_none_or(|threads| threads > own + 1) {
        // Another thread may hold a lock that the child needs.
        return Err("the program has several threads");
    }
    // SAFETY: plain queries.
    let waits = unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked);
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut action);
        libc::sigismember(&blocked, libc::SIGCHLD) == 1
            || ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
    };
    if waits { Err("the program waits for signals of its children") } else { Ok(()) }
}

impl Child {
    /// Forks a child that sends what `body` returns, and ends. [`may_fork`] has allowed it.
    ///
    /// # Errors
    /// The system's.
    pub fn start(body: impl FnOnce() -> Vec<u8>) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: plain calls; the descriptors are new and owned by one file each. The child is the only
        // thread of its process, and ends here.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            let (from, mut to) = (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]));
            let id = forked(libc::SIGCHLD, || to.write_all(&body()))?;
            Ok(Self { id, from })
        }
    }

    /// Waits for what the child sends; `None` if it was ended, or did not end within `limit` from now.
    pub fn result(mut self, limit: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + limit;
        let mut sent = Vec::new();
        let mut buffer = [0; 1 << 16];
        let complete = loop {
            let left = deadline.saturating_duration_since(Instant::now()).as_millis();
            let mut poll = libc::pollfd { fd: self.from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid descriptor.
            let ready = unsafe { libc::poll(&mut poll, 1, c_int::try_from(left).unwrap_or(c_int::MAX)) };
            match ready {
                0 => break false,
                ..0 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
                _ => {}
            }
            match self.from.read(&mut buffer) {
                Ok(0) => break true,
                Ok(n) => sent.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        let status = end(self.id, !complete);
        (complete && status != Some(false)).then_some(sent)
    }
}

impl WaitingChild {
    /// Forks a child that answers each question by `answer`. [`may_fork`] has allowed it. The program does not see it
    /// if it waits for its own children.
    ///
    /// # Errors
    /// The system's.
    pub fn start(mut answer: impl FnMut(&[u8]) -> Vec<u8>) -> io::Result<Self> {
        let (to, mut from) = UnixStream::pair()?;
        // SAFETY: the child is the only thread of its process, and uses its end alone.
        let id = unsafe {
            forked(0, || {
                // Without it, the end of the parent is the end of the questions.
                libc::close(to.as_raw_fd());
                loop {
                    let question = receive(&mut from)?;
                    send(&from, &answer(&question))?;
                }
            })?
        };
        Ok(Self { id, to })
    }

    /// Asks the child; `None` if it was ended, or did not answer within `limit` from now.
    pub fn ask(&mut self, question: &[u8], limit: Duration) -> Option<Vec<u8>> {
        send(&self.to, question).ok()?;
        self.to.set_read_timeout(Some(limit)).ok()?;
        receive(&mut self.to).ok()
    }
}

impl Drop for WaitingChild {
    fn drop(&mut self) {
        end(self.id, true);
    }
}

/// Sends bytes and how many they are. A process that has ended raises no signal here.
fn send(to: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let mut all = (bytes.len() as u64).to_le_bytes().to_vec();
    all.extend_from_slice(bytes);
    let mut left = &all[..];
    while !left.is_empty() {
        // SAFETY: an open descriptor, and bytes that are borrowed.
        let sent =
            unsafe { libc::send(to.as_raw_fd(), left.as_ptr().cast(), left.len(), libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => left = &left[sent..],
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// Receives what [`send`] has sent.
fn receive(from: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut size = [0; 8];
    from.read_exact(&mut size)?;
    let mut bytes = Vec::new();
    let size = u64::from_le_bytes(size);
    if from.take(size).read_to_end(&mut bytes)? as u64 == size {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Waits until a child has ended. Returns whether it ended well, if that is known.
fn end(id: libc::pid_t, kill: bool) -> Option<bool> {
    let mut status = 0;
    // SAFETY: the child is this process's own and was not waited for.
    unsafe {
        if kill {
            libc::kill(id, libc::SIGKILL);
        }
        loop {
            if libc::waitpid(id, &mut status, libc::__WALL) == id {
                return Some(status == 0);
            }
            // The program may ignore its children: then the system has forgotten the status.
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
    }
}

/// Forks a child that runs `body` and ends, with this signal to its parent; 0 for none. It handles no signal but those
/// of device code. Returns its number.
///
/// # Safety
/// The child may use nothing that another thread of this process may have locked.
unsafe fn forked(at_end: c_int, body: impl FnOnce() -> io::Result<()>) -> io::Result<libc::pid_t> {
    // SAFETY: plain calls.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // `fork` would always send a signal.
        let id = match at_end {
            libc::SIGCHLD => libc::fork(),
            _ => libc::syscall(libc::SYS_clone, at_end, 0, 0, 0, 0) as libc::pid_t,
        };
        if id == 0 {
            be_child(body);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if id < 0 { Err(error) } else { Ok(id) }
    }
}

/// The child's part.
fn be_child(body: impl FnOnce() -> io::Result<()>) -> ! {
    // SAFETY: plain calls in a process with one thread.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        let mut asynchronous = std::mem::zeroed();
        libc::sigfillset(&mut asynchronous);
        for signal in SYNCHRONOUS {
            libc::sigdelset(&mut asynchronous, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &asynchronous, std::ptr::null_mut());
    }
    // If memory runs out, the child ends before its parent does.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        protect_shared();
        body()
    }));
    loop {
        // SAFETY: ends the process without the program's exit handlers.
        unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(!matches!(done, Ok(Ok(()))))) };
    }
}

/// Protects the memory that other processes see from writes.
fn protect_shared() {
    for range in shared("w-s") {
        // SAFETY: nobody else runs in this process, and what writes there ends by a fault.
        unsafe { libc::mprotect(range.start as *mut libc::c_void, range.len(), libc::PROT_READ) };
    }
}

/// True if other processes may see this memory of a child.
pub fn is_shared(address: usize) -> bool {
    shared("--s").any(|range| range.contains(&address))
}

/// The mappings with this mode, without the letter for reading.
fn shared(mode: &'static str) -> impl Iterator<Item = Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let ranges = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).ok();
        (rest.get(1..4) == Some(mode)).then_some(bound(start)?..bound(end)?)
    });
    ranges.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_child_sends_its_result_and_changes_nothing_here() {
        let mut own = 1;
        let child = Child::start(|| {
            own += 1;
            vec![own; 1 << 20]
        });
        assert_eq!(child.unwrap().result(LIMIT), Some(vec![2; 1 << 20]));
        assert_eq!(own, 1);
    }

    #[test]
    fn a_waiting_child_answers_from_the_memory_that_it_found() {
        let mut own = vec![1u8, 2, 3];
        let mut child = WaitingChild::start(|question| {
            own.extend_from_slice(question);
            own.clone()
        });
        let child = child.as_mut().unwrap();
        assert_eq!(child.ask(&[4], LIMIT).unwrap(), [1, 2, 3, 4]);
        let long = vec![5; 1 << 20];
        assert_eq!(child.ask(&long, LIMIT).unwrap().len(), 4 + (1 << 20));
        // SAFETY: the child is this process's own.
        unsafe { libc::kill(child.id, libc::SIGKILL) };
        assert_eq!(child.ask(&[6], LIMIT), None);
        let mut slow = WaitingChild::start(|_| {
            std::thread::sleep(LIMIT);
            Vec::new()
        });
        assert_eq!(slow.as_mut().unwrap().ask(&[], Duration::from_millis(50)), None);
    }

    #[test]
    fn a_program_that_waits_for_its_children_does_not_wait_for_a_waiting_one() {
        let waits = Child::start(|| {
            let mut child = WaitingChild::start(|question| question.to_vec()).unwrap();
            // SAFETY: a plain call.
            let waited = unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
            let error = io::Error::last_os_error().raw_os_error();
            assert_eq!((waited, error), (-1, Some(libc::ECHILD)));
            child.ask(&[7], LIMIT).unwrap()
        });
        assert_eq!(waits.unwrap().result(LIMIT), Some(vec![7]));
    }

    #[test]
    fn a_child_that_faults_or_takes_too_long_has_no_result() {
        let faults = Child::start(|| {
            // SAFETY: none, on purpose; the process is a child.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            Vec::new()
        });
        assert_eq!(faults.unwrap().result(LIMIT), None);
        let stays = Child::start(|| {
            std::thread::sleep(LIMIT);
            Vec::new()
        });
        assert_eq!(stays.unwrap().result(Duration::from_millis(50)), None);
    }

    #[test]
    fn what_other_processes_see_stays_as_it_is() {
        // SAFETY: a fresh page, which this test and its child use alone.
        unsafe {
            let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 4096, read | write, flags, -1, 0).cast::<u8>();
            let child = Child::start(|| {
                page.write_volatile(1);
                Vec::new()
            });
            assert_eq!(child.unwrap().result(LIMIT), None);
            assert_eq!(page.read_volatile(), 0);
        }
    }
}
