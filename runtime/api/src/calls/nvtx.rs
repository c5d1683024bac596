//! NVTX, with which programs tell tools what they are doing. A pushed range is a named region.
//!
//! The headers of NVTX 3 find the runtime through [`InitializeInjectionNvtx2`] and call the functions of
//! [`FUNCTIONS`]. Objects that were built with the headers of NVTX 2 call functions by name; all of them are exported.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::calls::start::process;
use crate::host::edge::guard;
use crate::program::named_regions::EnteredBy;

/// A character of C.
trait Character: Copy + PartialEq + Default {
    /// The text of these.
    fn text(characters: &[Self]) -> String;
}

impl Character for u8 {
    fn text(characters: &[Self]) -> String {
        String::from_utf8_lossy(characters).into_owned()
    }
}

/// `wchar_t`
impl Character for u32 {
    fn text(characters: &[Self]) -> String {
        characters.iter().map(|&c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// The text at a pointer of the program's. Empty for a null pointer.
///
/// # Safety
/// The pointer is null, or its characters end with a zero.
unsafe fn text<C: Character>(at: *const C) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: by the contract above.
    let length = (0..).take_while(|&i| unsafe { *at.add(i) } != C::default()).count();
    // SAFETY: these were read.
    C::text(unsafe { std::slice::from_raw_parts(at, length) })
}

/// `nvtxEventAttributes_t`
#[repr(C)]
pub struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

impl Attributes {
    /// The message.
    ///
    /// # Safety
    /// It is as its type says.
    unsafe fn message(&self) -> String {
        match self.message_type {
            // SAFETY: NVTX_MESSAGE_TYPE_ASCII
            1 => unsafe { text(self.message.cast::<u8>()) },
            // SAFETY: NVTX_MESSAGE_TYPE_UNICODE
            2 => unsafe { text(self.message.cast::<u32>()) },
            // NVTX_MESSAGE_TYPE_REGISTERED
            3 => STRINGS.lock().as_ref().and_then(|s| s.registered(self.message)).unwrap_or_default(),
            _ => String::new(),
        }
    }
}

/// The registered strings. They stay for ever, as in NVTX.
#[derive(Default)]
struct Strings {
    by_text: HashSet<&'static String>,
    by_address: HashSet<usize>,
}

static STRINGS: Mutex<Option<Strings>> = Mutex::new(None);

impl Strings {
    /// `nvtxStringHandle_t`: the address of a string that is never freed.
    fn register(&mut self, text: String) -> *mut c_void {
        let known = match self.by_text.get(&text) {
            Some(known) => known,
            None => {
                let new: &'static String = Box::leak(Box::new(text));
                self.by_text.insert(new);
                self.by_address.insert(std::ptr::from_ref(new).addr());
                new
            }
        };
        std::ptr::from_ref::<String>(known).cast_mut().cast()
    }

    fn registered(&self, handle: *const c_void) -> Option<String> {
        // SAFETY: it is one of the strings, which are never freed.
        self.by_address.contains(&handle.addr()).then(|| unsafe { &*handle.cast::<String>() }.clone())
    }
}

fn register(text: String) -> *mut c_void {
    STRINGS.lock().get_or_insert_default().register(text)
}

/// What a pop returns if nothing was pushed.
const NOTHING_PUSHED: c_int = -1;

/// The domain of functions without a domain.
const DEFAULT: *mut c_void = null_mut();

fn push(domain: *mut c_void, name: &str) -> c_int {
    let level = process().program().named_regions.enter(EnteredBy::Nvtx(domain.addr()), name);
    c_int::try_from(level).unwrap_or(c_int::MAX)
}

fn pop(domain: *mut c_void) -> c_int {
    let left = process().program().named_regions.leave(EnteredBy::Nvtx(domain.addr()));
    left.map_or(NOTHING_PUSHED, |level| c_int::try_from(level).unwrap_or(c_int::MAX))
}

/// A number that no range has yet. Ranges of this kind may end on another thread, so they are no regions.
fn next_range() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// `nvtxDomainHandle_t`: a number that no domain has yet.
fn next_domain() -> *mut c_void {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    std::ptr::without_provenance_mut(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The message of attributes.
///
/// # Safety
/// The pointer is null or valid.
unsafe fn message(attributes: *const Attributes) -> String {
    // SAFETY: by the contract above.
    unsafe { attributes.as_ref().map(|attributes| attributes.message()).unwrap_or_default() }
}

/// `NvtxFunctionPointer`: a function of any type. Only the headers read it.
#[allow(dead_code)]
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Function(*const c_void);

// SAFETY: an address of code.
unsafe impl Sync for Function {}

/// Defines functions of NVTX. Those with a module and a number are for the headers of NVTX 3, which do nothing
/// where a tool has no function.
macro_rules! functions {
    ($($(#[$place:ident($id:literal)])? fn $name:ident($($param:ident: $ty:ty),*) -> $result:ty, or $broken:expr; $body:block)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of NVTX.")]
            ///
            /// # Safety
            /// Pointers are as NVTX documents them.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($param: $ty),*) -> $result {
                guard(stringify!($name), $broken, || $body)
            }
        )*

        /// The functions for the headers of NVTX 3: the module (`NvtxCallbackModule`), the number in it
        /// (`NvtxCallbackIdCore`, `NvtxCallbackIdCore2`) and the function.
        static FUNCTIONS: &[(u32, usize, Function)] = &[
            $($((functions!(@module $place), $id, Function($name as *const c_void)),)?)*
        ];
    };
    (@module core) => { 1 };
    (@module core2) => { 5 };
}

functions! {
    #[core(4)]
    fn nvtxRangeStartEx(_attributes: *const Attributes) -> u64, or 0; { next_range() }
    #[core(5)]
    fn nvtxRangeStartA(_name: *const u8) -> u64, or 0; { next_range() }
    #[core(6)]
    fn nvtxRangeStartW(_name: *const u32) -> u64, or 0; { next_range() }
    #[core(8)]
    fn nvtxRangePushEx(attributes: *const Attributes) -> c_int, or NOTHING_PUSHED; {
        // SAFETY: the caller's contract.
        push(DEFAULT, &unsafe { message(attributes) })
    }
    #[core(9)]
    fn nvtxRangePushA(name: *const u8) -> c_int, or NOTHING_PUSHED; {
        // SAFETY: the caller's contract.
        push(DEFAULT, &unsafe { text(name) })
    }
    #[core(10)]
    fn nvtxRangePushW(name: *const u32) -> c_int, or NOTHING_PUSHED; {
        // SAFETY: the caller's contract.
        push(DEFAULT, &unsafe { text(name) })
    }
    #[core(11)]
    fn nvtxRangePop() -> c_int, or NOTHING_PUSHED; { pop(DEFAULT) }
    #[core2(2)]
    fn nvtxDomainRangeStartEx(_domain: *mut c_void, _attributes: *const Attributes) -> u64, or 0; { next_range() }
    #[core2(4)]
    fn nvtxDomainRangePushEx(domain: *mut c_void, attributes: *const Attributes) -> c_int, or NOTHING_PUSHED; {
        // SAFETY: the caller's contract.
        push(domain, &unsafe { message(attributes) })
    }
    #[core2(5)]
    fn nvtxDomainRangePop(domain: *mut c_void) -> c_int, or NOTHING_PUSHED; { pop(domain) }
    #[core2(10)]
    fn nvtxDomainRegisterStringA(_domain: *mut c_void, string: *const u8) -> *mut c_void, or null_mut(); {
        // SAFETY: the caller's contract.
        register(unsafe { text(string) })
    }
    #[core2(11)]
    fn nvtxDomainRegisterStringW(_domain: *mut c_void, string: *const u32) -> *mut c_void, or null_mut(); {
        // SAFETY: the caller's contract.
        register(unsafe { text(string) })
    }
    #[core2(12)]
    fn nvtxDomainCreateA(_name: *const u8) -> *mut c_void, or null_mut(); { next_domain() }
    #[core2(13)]
    fn nvtxDomainCreateW(_name: *const u32) -> *mut c_void, or null_mut(); { next_domain() }
}

/// Defines functions that do nothing. They look at no parameter, so any list of them fits.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of NVTX. It does nothing.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> *mut c_void {
            null_mut()
        }
    )*};
}

nothing! {
    nvtxInitialize nvtxMarkEx nvtxMarkA nvtxMarkW nvtxRangeEnd nvtxNameCategoryA nvtxNameCategoryW
    nvtxNameOsThreadA nvtxNameOsThreadW
    nvtxDomainMarkEx nvtxDomainRangeEnd nvtxDomainResourceCreate nvtxDomainResourceDestroy
    nvtxDomainNameCategoryA nvtxDomainNameCategoryW nvtxDomainDestroy
    nvtxNameCuDeviceA nvtxNameCuDeviceW nvtxNameCuContextA nvtxNameCuContextW nvtxNameCuStreamA nvtxNameCuStreamW
    nvtxNameCuEventA nvtxNameCuEventW
    nvtxNameCudaDeviceA nvtxNameCudaDeviceW nvtxNameCudaStreamA nvtxNameCudaStreamW nvtxNameCudaEventA
    nvtxNameCudaEventW
    nvtxDomainSyncUserCreate nvtxDomainSyncUserDestroy nvtxDomainSyncUserAcquireStart
    nvtxDomainSyncUserAcquireFailed nvtxDomainSyncUserAcquireSuccess nvtxDomainSyncUserReleasing
}

/// `NvtxExportTableCallbacks`
#[repr(C)]
struct Callbacks {
    size: usize,
    /// Writes the array of the places where a module's functions are kept, and its length. 0 if there is none.
    module: unsafe extern "C" fn(u32, *mut *const *mut Function, *mut u32) -> c_int,
}

/// What the headers of NVTX 3 call first. It hands over [`FUNCTIONS`]. Returns 1 if that worked.
///
/// # Safety
/// The function is `nvtxGetExportTable` of NVTX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    export_table: unsafe extern "C" fn(u32) -> *const c_void,
) -> c_int {
    guard("InitializeInjectionNvtx2", 0, || {
        // SAFETY: NVTX_ETID_CALLBACKS; the result is null or a table, which stays.
        let Some(callbacks) = (unsafe { export_table(1).cast::<Callbacks>().as_ref() }) else { return 0 };
        if callbacks.size < size_of::<Callbacks>() {
            return 0;
        }
        for &(module, id, function) in FUNCTIONS {
            let (mut places, mut count) = (std::ptr::null(), 0);
            // SAFETY: both are valid for a write.
            let found = unsafe { (callbacks.module)(module, &raw mut places, &raw mut count) };
            if found == 0 || id >= count as usize {
                continue;
            }
            // SAFETY: `id` is in the array, whose items are null or valid for a write.
            unsafe {
                let place = *places.add(id);
                if !place.is_null() {
                    *place = function;
                }
            }
        }
        1
    })
}
