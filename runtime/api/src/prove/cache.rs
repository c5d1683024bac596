//! Answers of the solver, kept on disk between runs.
//!
//! A file's name is the hash of everything that the answer depends on. The file begins with the
//! same hash. A file that does not, or cannot be decoded, is ignored. Files appear whole, by a
//! rename: several processes may write and read at once. After any failure the solver is asked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{PROTOCOL_VERSION, Protocol};
use gpurace_protocol::wire::to_bytes;

use crate::host::message;
use crate::prove::solver::SolverFile;

/// Hash of everything that an answer depends on.
pub type Key = [u8; 32];

/// The version of an answer's form.
const FORM: u64 = 3;
/// Most files of one folder. There are 256 folders.
const MOST_FILES: usize = 64;
/// Most bytes of one file.
const MOST_BYTES: u64 = 16 << 20;

/// The solver's answer about a launch.
#[derive(Debug, PartialEq, Eq)]
pub struct LaunchAnswer {
    /// What it cost, in milliseconds of a common machine.
    pub cost_ms: u64,
    /// The sites that were proved.
    pub proved: Vec<u32>,
}

impl LaunchAnswer {
    /// The answer as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let sites = self.proved.iter().flat_map(|site| site.to_le_bytes());
        self.cost_ms.to_le_bytes().into_iter().chain(sites).collect()
    }

    /// The answer of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (cost, sites) = bytes.split_first_chunk::<8>()?;
        let (sites, rest) = sites.as_chunks::<4>();
        let proved = sites.iter().map(|site| u32::from_le_bytes(*site)).collect();
        rest.is_empty().then(|| Self { cost_ms: u64::from_le_bytes(*cost), proved })
    }
}

/// A folder of answers.
pub struct Cache {
    folder: PathBuf,
    /// The user was told of a file that cannot be used.
    told: Once,
}

/// The key of the solver's answer under a budget: about a launch, or about all that the protocol describes.
pub fn key(solver: SolverFile, protocol: &Protocol, launch: Option<&Launch>, budget: Duration) -> Key {
    let mut hash = blake3::Hasher::new();
    hash.update(env!("CARGO_PKG_VERSION").as_bytes());
    let budget = budget.as_millis() as u64;
    for number in [FORM, PROTOCOL_VERSION.into(), solver.size, solver.changed, budget] {
        hash.update(&number.to_le_bytes());
    }
    for part in [to_bytes(protocol), to_bytes(&launch)] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(&part);
    }
    *hash.finalize().as_bytes()
}

impl Cache {
    /// The cache in this folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.join("launches"), told: Once::new() }
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// The bytes of the answer under this key.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = Vec::new();
        let read = open_own(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
        if let Err(error) = read {
            if ![ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) {
                let say =
                    || message::note(&format!("`{}` of the proof cache not used: {error}", path.display()));
                self.told.call_once(say);
            }
            return None;
        }
        let (own, rest) = bytes.split_first_chunk::<32>()?;
        let (check, body) = rest.split_first_chunk::<32>()?;
        if own != key || blake3::hash(body).as_bytes() != check {
            return None;
        }
        Some(body.to_vec())
    }

    /// Keeps the bytes of an answer under this key.
    pub fn put(&self, key: &Key, answer: &[u8]) {
        // An answer that cannot be kept is computed again.
        let _ = self.try_put(key, answer);
    }

    /// Keeps an answer in a file of its own, which appears whole or not at all.
    fn try_put(&self, key: &Key, body: &[u8]) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        make_room(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(key)?;
        file.write_all(blake3::hash(body).as_bytes())?;
        file.write_all(body)?;
        file.persist(path)?;
        Ok(())
    }
}

/// Removes the oldest file of a full folder.
fn make_room(folder: &Path) -> std::io::Result<()> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    if files.len() >= MOST_FILES {
        files.sort();
        for (_, path) in &files[..=files.len() - MOST_FILES] {
            // Another process may have removed it already.
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Opens a regular file of this user. Does not follow a link at its end, and does not wait: a pipe or a
/// device may stand in its place.
///
/// # Errors
/// That of the system, or what was found instead.
fn open_own(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    // SAFETY: a plain query.
    if found.is_file() && found.uid() == unsafe { libc::geteuid() } {
        Ok(file)
    } else {
        Err(io::Error::other("found no regular file of this user"))
    }
}

/// `$XDG_CACHE_HOME`, or `.cache` in the home folder. None in a program with rights that its user lacks.
pub fn user_cache() -> Option<PathBuf> {
    if gpurace_options::is_privileged() {
        return None;
    }
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(proved: &[u32]) -> Vec<u8> {
        LaunchAnswer { cost_ms: 700, proved: proved.to_vec() }.to_bytes()
    }

    #[test]
    fn the_answer_about_a_launch_comes_back() {
        let whole = LaunchAnswer { cost_ms: 1 << 40, proved: vec![1, 300] };
        let bytes = whole.to_bytes();
        assert_eq!(LaunchAnswer::from_bytes(&bytes), Some(whole));
        assert_eq!(LaunchAnswer::from_bytes(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn keys_hold_all_that_an_answer_depends_on() {
        let (solver, ms) = (SolverFile { size: 1, changed: 2 }, Duration::from_millis(1));
        let (protocol, launch) = (Protocol::default(), Launch::default());
        let mut shaped = protocol.clone();
        shaped.shape.grid[1] = Some(1);
        let other = Launch { params: vec![7], ..launch.clone() };
        let keys = [
            key(solver, &protocol, None, ms),
            key(solver, &protocol, Some(&launch), ms),
            key(solver, &protocol, Some(&other), ms),
            key(solver, &shaped, None, ms),
            key(solver, &protocol, None, 2 * ms),
            key(SolverFile { size: 2, ..solver }, &protocol, None, ms),
        ];
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), keys.len());
        assert_eq!(keys[0], key(solver, &protocol, None, ms));
    }

    #[test]
    fn answers_come_back_and_damaged_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let (key, other) = ([7; 32], [8; 32]);
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &answer(&[1, 300]));
        cache.put(&other, &answer(&[]));
        assert_eq!(cache.get(&key), Some(answer(&[1, 300])));
        assert_eq!(cache.get(&other), Some(answer(&[])));
        let path = cache.path(&key);
        let whole = fs::read(&path).unwrap();
        for cut in [0, 31, 63, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.get(&key), None, "cut at {cut}");
        }
        for at in [0, 40, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.get(&key), None, "damaged at {at}");
        }
        // Another key's answer under this one's name.
        fs::copy(cache.path(&other), &path).unwrap();
        assert_eq!(cache.get(&key), None);
    }

    #[test]
    fn only_regular_files_of_the_user_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = [7; 32];
        cache.put(&key, &answer(&[1, 300]));
        let path = cache.path(&key);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(cache.get(&key), None, "a link");
        fs::remove_file(&path).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(cache.get(&key), None, "a pipe, for which an ordinary open would wait");
        cache.put(&key, &answer(&[2]));
        assert_eq!(cache.get(&key), Some(answer(&[2])), "the pipe is replaced");
    }

    #[test]
    fn a_folder_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for i in 0..MOST_FILES as u8 + 20 {
            let mut key = [0; 32];
            key[31] = i;
            cache.put(&key, &answer(&[u32::from(i)]));
        }
        assert_eq!(fs::read_dir(cache.folder.join("00")).unwrap().count(), MOST_FILES);
        let mut last = [0; 32];
        last[31] = MOST_FILES as u8 + 19;
        assert_eq!(cache.get(&last), Some(answer(&[u32::from(last[31])])));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let cache = Cache::at(Path::new("/proc/nowhere"));
        cache.put(&[1; 32], &answer(&[1]));
        assert_eq!(cache.get(&[1; 32]), None);
    }
}
