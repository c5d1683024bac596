//! The map from addresses to shadow words.
//!
//! The 47-bit address space is cut into chunks of 4 MiB of application memory. A chunk that is
//! accessed gets 8 MiB of shadow. It is mapped without reserving memory: only touched pages of it
//! cost any. A table of one pointer per chunk, mapped the same way, leads to the chunks. A fresh
//! word is zero.
//!
//! Behind the words of a chunk lies one more word for each [`region`] of 32 of them, and behind
//! those lie a [`Page`] for each page of the chunk and one for each stretch.

use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use gpurace_abi::device::REGION_WORDS;
use parking_lot::Mutex;

use crate::model::access::GRANULE;
use crate::model::record::Record;
use crate::shadow::page::{PAGE, Page, STRETCH};
use crate::shadow::region;

const ADDRESS_BITS: u32 = 47;
const CHUNK_BITS: u32 = 22;
const CHUNKS: usize = 1 << (ADDRESS_BITS - CHUNK_BITS);
const WORDS_PER_CHUNK: usize = (1 << CHUNK_BITS) / GRANULE;
const REGIONS_PER_CHUNK: usize = WORDS_PER_CHUNK / REGION_WORDS;
const PAGES_PER_CHUNK: usize = (1 << CHUNK_BITS) / PAGE;
const STRETCHES_PER_CHUNK: usize = (1 << CHUNK_BITS) / STRETCH;
const CHUNK_BYTES: usize =
    (WORDS_PER_CHUNK + REGIONS_PER_CHUNK) * 8 + (PAGES_PER_CHUNK + STRETCHES_PER_CHUNK) * size_of::<Page>();

/// Where the shadow of one application word lies.
#[derive(Clone, Copy, Debug)]
pub struct WordPlace<'a> {
    /// The word of its region.
    pub region: &'a AtomicU64,
    /// Its shadow word.
    pub word: &'a AtomicU64,
    /// Its page.
    pub(crate) page: &'a Page,
    /// Its stretch.
    pub(crate) stretch: &'a Page,
}

impl<'a> WordPlace<'a> {
    /// The shadow words of its region.
    pub fn words(self) -> &'a [AtomicU64; REGION_WORDS] {
        const BYTES: usize = 8 * REGION_WORDS;
        let first = (&raw const *self.word).map_addr(|at| at & !(BYTES - 1));
        // SAFETY: a chunk begins a page, and holds whole regions.
        unsafe { &*first.cast() }
    }
}

/// The map of all shadow words.
pub struct ShadowMap {
    table: *const AtomicPtr<AtomicU64>,
    /// The table's length: none where the system refuses it.
    chunks: usize,
    /// Chunks that are mapped, in the order of their mapping.
    mapped: Mutex<Vec<usize>>,
    /// The system has refused memory: accesses were not checked.
    is_incomplete: AtomicBool,
}

// SAFETY: the table and the chunks are atomics in mappings that live as long as the map.
unsafe impl Send for ShadowMap {}
// SAFETY: as above.
unsafe impl Sync for ShadowMap {}

impl ShadowMap {
    /// An empty map. It stays empty where the system refuses 256 MiB of unreserved address space.
    pub fn new() -> Self {
        let (table, chunks) = match map(CHUNKS * size_of::<usize>()) {
            Ok(table) => (table.cast_const().cast(), CHUNKS),
            Err(_) => (ptr::null(), 0),
        };
        Self { table, chunks, mapped: Mutex::new(Vec::new()), is_incomplete: AtomicBool::new(chunks == 0) }
    }

    /// True if there was no memory for the shadow of some accesses, which were not checked.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete.load(Ordering::Relaxed)
    }

    /// The place of the application word that holds `address`. `None` for an address that no
    /// program has, or where no memory is left for shadow.
    #[inline]
    pub fn place(&self, address: usize) -> Option<WordPlace<'_>> {
        let chunk = address >> CHUNK_BITS;
        if chunk >= self.chunks {
            return None;
        }
        // SAFETY: `chunk` is less than the table's length.
        let slot = unsafe { &*self.table.add(chunk) };
        let mut base = slot.load(Ordering::Acquire);
        if base.is_null() {
            base = self.map_chunk(chunk, slot)?;
        }
        // SAFETY: `base` is a mapped chunk's.
        Some(unsafe { Self::in_chunk(base, address) })
    }

    /// Prefetches the words of an address and of its region.
    #[inline(always)]
    pub(crate) fn prefetch(&self, address: usize) {
        if let Some(place) = self.existing_place(address) {
            prefetch((&raw const *place.region).cast());
            prefetch((&raw const *place.word).cast());
        }
    }

    /// Prefetches the record list of the region of an address.
    #[inline]
    pub(crate) fn prefetch_region(&self, address: usize) {
        if let Some(place) = self.existing_place(address) {
            region::prefetch(Record::from_bits(place.region.load(Ordering::Relaxed)));
        }
    }

    /// The place of an address whose chunk was ever accessed.
    pub fn existing_place(&self, address: usize) -> Option<WordPlace<'_>> {
        let chunk = address >> CHUNK_BITS;
        if chunk >= self.chunks {
            return None;
        }
        // SAFETY: `chunk` is less than the table's length.
        let base = unsafe { &*self.table.add(chunk) }.load(Ordering::Acquire);
        // SAFETY: a chunk that is not null is mapped.
        (!base.is_null()).then(|| unsafe { Self::in_chunk(base, address) })
    }

    /// The place of an address in its chunk.
    ///
    /// # Safety
    /// `base` is the start of the chunk that holds the address.
    unsafe fn in_chunk<'a>(base: *mut AtomicU64, address: usize) -> WordPlace<'a> {
        let word = address / GRANULE % WORDS_PER_CHUNK;
        // SAFETY: `base` maps WORDS_PER_CHUNK words and REGIONS_PER_CHUNK behind them, and behind
        // those PAGES_PER_CHUNK pages and as many stretches as a chunk has, and is never unmapped
        // before the shadow ends.
        unsafe {
            let pages = base.add(WORDS_PER_CHUNK + REGIONS_PER_CHUNK).cast::<Page>();
            WordPlace {
                region: &*base.add(WORDS_PER_CHUNK + word / REGION_WORDS),
                word: &*base.add(word),
                page: &*pages.add(word * GRANULE / PAGE),
                stretch: &*pages.add(PAGES_PER_CHUNK + word * GRANULE / STRETCH),
            }
        }
    }

    /// Visits the regions of `bytes` whose chunks were ever accessed, in order: the address of
    /// each, and the place of its first word.
    pub fn regions(&self, bytes: &Range<usize>, mut visit: impl FnMut(usize, WordPlace<'_>)) {
        let mut at = bytes.start & !(region::BYTES - 1);
        while at < bytes.end {
            match self.existing_place(at) {
                Some(place) => {
                    visit(at, place);
                    at += region::BYTES;
                }
                None => at = ((at >> CHUNK_BITS) + 1) << CHUNK_BITS,
            }
        }
    }

    /// Maps the shadow of a chunk, and returns its start; `None` if the system refuses it.
    #[cold]
    fn map_chunk(&self, chunk: usize, slot: &AtomicPtr<AtomicU64>) -> Option<*mut AtomicU64> {
        let mut mapped = self.mapped.lock();
        let base = slot.load(Ordering::Acquire);
        if !base.is_null() {
            return Some(base);
        }
        let Ok(base) = map(CHUNK_BYTES) else {
            self.is_incomplete.store(true, Ordering::Relaxed);
            return None;
        };
        let base = base.cast();
        slot.store(base, Ordering::Release);
        mapped.push(chunk);
        Some(base)
    }

    /// Empties every word. `visit` sees each word that was not empty, and `visit_region` each such
    /// word of a region. No other thread may use the map.
    pub fn clear(&self, mut visit: impl FnMut(u64), mut visit_region: impl FnMut(u64)) {
        for &chunk in self.mapped.lock().iter() {
            // SAFETY: mapped chunks are in the table's range.
            let base = unsafe { &*self.table.add(chunk) }.load(Ordering::Acquire);
            for i in 0..WORDS_PER_CHUNK + REGIONS_PER_CHUNK {
                // SAFETY: a mapped chunk holds that many.
                let word = unsafe { &*base.add(i) }.load(Ordering::Acquire);
                match word {
                    0 => {}
                    _ if i < WORDS_PER_CHUNK => visit(word),
                    _ => visit_region(word),
                }
            }
            // SAFETY: the range is one of our own mappings. Its pages read zero afterwards.
            unsafe { libc::madvise(base.cast(), CHUNK_BYTES, libc::MADV_DONTNEED) };
        }
    }
}

/// Prefetches a cache line.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has the instruction, which changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

impl Default for ShadowMap {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ShadowMap {
    fn drop(&mut self) {
        for &chunk in self.mapped.get_mut().iter() {
            // SAFETY: mapped chunks are in the table's range; nobody else holds `self`.
            unsafe {
                let base = (*self.table.add(chunk)).load(Ordering::Acquire);
                libc::munmap(base.cast(), CHUNK_BYTES);
            }
        }
        if self.chunks > 0 {
            // SAFETY: the table is our own mapping.
            unsafe { libc::munmap(self.table.cast_mut().cast(), self.chunks * size_of::<usize>()) };
        }
    }
}

/// A fresh mapping of zeros.
fn map(bytes: usize) -> io::Result<*mut libc::c_void> {
    // SAFETY: an anonymous mapping at an address of the system's choice.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at) }
}
