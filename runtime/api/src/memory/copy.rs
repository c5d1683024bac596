//! Copies and fills: what CUDA says of their arguments. For the order of work on
//! streams each counts as an operation of its stream.

use std::ffi::{c_int, c_void};

use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::graph::capture;
use crate::graph::work::Work;
use crate::memory::array::{self, Array};
use crate::memory::map::{self, Kind};
use crate::order::StreamId;
use crate::transfer::Waits;
use crate::types::{
    cudaExtent, cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaMemsetParams, cudaPitchedPtr, cudaPos,
    cudaStream_t,
};
use crate::{backend, call_site, device, modules, stream, transfer};

/// The default stream, which calls without a stream argument use.
const DEFAULT: cudaStream_t = std::ptr::null_mut();

/// `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `cudaMemcpyHostToHost`.
    HostToHost,
    /// `cudaMemcpyHostToDevice`.
    HostToDevice,
    /// `cudaMemcpyDeviceToHost`.
    DeviceToHost,
    /// `cudaMemcpyDeviceToDevice`.
    DeviceToDevice,
    /// `cudaMemcpyDefault`: the pointers say it.
    Default,
}

impl Direction {
    /// The direction with this number.
    ///
    /// # Errors
    /// `cudaErrorInvalidMemcpyDirection` where there is none.
    pub fn new(kind: u32) -> Result<Self> {
        Ok(match kind {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(Error::INVALID_MEMCPY_DIRECTION),
        })
    }

    /// What the direction says of the destination and of the source.
    fn sides(self) -> (Side, Side) {
        match self {
            Self::HostToHost => (Side::Host, Side::Host),
            Self::HostToDevice => (Side::Device, Side::Host),
            Self::DeviceToHost => (Side::Host, Side::Device),
            Self::DeviceToDevice => (Side::Device, Side::Device),
            Self::Default => (Side::Any, Side::Any),
        }
    }
}

/// Where an address must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Host,
    Device,
    Any,
}

/// Whether the `size` bytes at `pointer` may be that side of a copy.
fn check_side(pointer: *const c_void, size: usize, side: Side) -> Result {
    let address = pointer as usize;
    if pointer.is_null() || address.checked_add(size).is_none() {
        return Err(Error::INVALID_VALUE);
    }
    let fits = match (map::find(address), side) {
        (Some(found), Side::Host) if matches!(found.kind, Kind::Device | Kind::Array) => false,
        (Some(found), _) => {
            // Registered memory goes on as ordinary memory of the program.
            found.contains(address, size) || (found.kind == Kind::Registered && side != Side::Device)
        }
        (None, Side::Device) => modules::variable_at(address)
            .is_some_and(|variable| size <= variable.address + variable.size - address),
        (None, Side::Host | Side::Any) => true,
    };
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Rows of `width` bytes, `pitch` bytes from one to the next, `slice` bytes
/// from one slice of `height` rows to the next.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The first byte.
    pub start: *mut u8,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one slice to the next.
    pub slice: usize,
}

impl Rows {
    /// What a copy or fill of `extent` touches.
    fn touched(self, extent: cudaExtent) -> transfer::Rows {
        transfer::Rows {
            start: self.start as usize,
            width: extent.width,
            rows: (extent.height, self.pitch),
            slices: (extent.depth, self.slice),
        }
    }
}

/// Bytes from the first to the last of `extent` in these rows, or `None` where
/// the number is too large.
fn span(rows: Rows, extent: cudaExtent) -> Option<usize> {
    let in_rows = rows.pitch.checked_mul(extent.height - 1)?;
    let in_slices = rows.slice.checked_mul(extent.depth - 1)?;
    in_rows.checked_add(in_slices)?.checked_add(extent.width)
}

fn is_empty(extent: cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

/// A copy of `extent` (bytes, rows, slices) whose sides were checked.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    to: Rows,
    from: Rows,
    extent: cudaExtent,
}

impl Copy {
    /// # Errors
    /// `cudaErrorInvalidValue` or `cudaErrorInvalidPitchValue` where the sides
    /// cannot be copied.
    fn new(to: Rows, from: Rows, extent: cudaExtent, direction: Direction) -> Result<Self> {
        if !is_empty(extent) {
            if extent.height > 1 && (to.pitch < extent.width || from.pitch < extent.width) {
                return Err(Error::INVALID_PITCH_VALUE);
            }
            let (to_side, from_side) = direction.sides();
            for (rows, side) in [(to, to_side), (from, from_side)] {
                check_side(rows.start.cast(), span(rows, extent).ok_or(Error::INVALID_VALUE)?, side)?;
            }
        }
        Ok(Self { to, from, extent })
    }

    /// Copies on `stream`, as part of a graph: nobody waits for it.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where device memory was freed since.
    pub fn run(&self, stream: StreamId) -> Result {
        for rows in [self.to, self.from].into_iter().filter(|_| !is_empty(self.extent)) {
            check_side(rows.start.cast(), span(rows, self.extent).ok_or(Error::INVALID_VALUE)?, Side::Any)?;
        }
        // SAFETY: as whoever made the node vouched.
        unsafe { self.act(stream, Waits::InGraph) }
    }

    /// # Safety
    /// Host memory that the sides span is valid; device memory was checked.
    unsafe fn act(&self, stream: StreamId, waits: Waits) -> Result {
        let Self { to, from, extent } = *self;
        if is_empty(extent) {
            return transfer::nothing(stream, waits);
        }
        let wait = transfer::begin(stream, to.touched(extent), Some(from.touched(extent)), waits);
        // SAFETY: as the caller vouches.
        unsafe { backend::get().copy(to, from, extent, stream, wait) }
    }
}

// SAFETY: the addresses are only used by copies, whichever thread makes them.
unsafe impl Send for Rows {}

/// Copies `extent` (bytes, rows, slices) after checking both sides.
///
/// # Safety
/// Host memory that the sides span is valid; device memory is checked.
unsafe fn copy_rows(
    to: Rows,
    from: Rows,
    extent: cudaExtent,
    direction: Direction,
    stream: StreamId,
    sync: bool,
) -> Result {
    let copy = Copy::new(to, from, extent, direction)?;
    if !capture::add(stream, || Work::Copy(copy, call_site::callers()))? {
        // SAFETY: as the caller vouches.
        unsafe { copy.act(stream, Waits::of_call(sync)) }?;
    }
    Ok(())
}

/// A copy of `count` bytes on `stream`; the caller waits for it if `sync`.
///
/// # Safety
/// As [`copy_rows`].
pub unsafe fn copy_bytes(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    // SAFETY: as the caller vouches.
    unsafe { copy_2d((to, count), (from, count), (count, 1), kind, stream, sync) }
}

/// A copy of `(width, height)` bytes between pointers with pitches.
///
/// # Safety
/// As [`copy_rows`].
unsafe fn copy_2d(
    (to, to_pitch): (*mut c_void, usize),
    (from, from_pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let direction = Direction::new(kind)?;
    let stream = stream::resolve(stream)?;
    let extent = cudaExtent { width, height, depth: 1 };
    let to = Rows { start: to.cast(), pitch: to_pitch, slice: 0 };
    let from = Rows { start: from.cast_mut().cast(), pitch: from_pitch, slice: 0 };
    // SAFETY: as the caller vouches.
    unsafe { copy_rows(to, from, extent, direction, stream, sync) }
}

/// One side of a 3D copy: an array or a pitched pointer, exactly one of both.
/// Gives its rows from `pos` on, and how wide an element of `x` is.
fn side_3d(handle: *mut c_void, pointer: &cudaPitchedPtr, pos: cudaPos) -> Result<(Rows, Option<usize>)> {
    match (handle.is_null(), pointer.ptr.is_null()) {
        (false, true) => {
            let array = array::lookup(handle)?;
            let rows = array_rows(&array, pos.x * array.element, pos.y, pos.z)?;
            Ok((rows, Some(array.element)))
        }
        (true, false) => {
            let slice = pointer.pitch.checked_mul(pointer.ysize).ok_or(Error::INVALID_VALUE)?;
            let offset = pos
                .z
                .checked_mul(slice)
                .and_then(|at| at.checked_add(pos.y.checked_mul(pointer.pitch)?))
                .and_then(|at| at.checked_add(pos.x))
                .ok_or(Error::INVALID_VALUE)?;
            let start = pointer.ptr.cast::<u8>().wrapping_add(offset);
            Ok((Rows { start, pitch: pointer.pitch, slice }, None))
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// The rows of an array from this byte, row and slice on.
fn array_rows(array: &Array, x: usize, y: usize, z: usize) -> Result<Rows> {
    if x > array.row() || y > array.rows() || z > array.slices() {
        return Err(Error::INVALID_VALUE);
    }
    let slice = array.row() * array.rows();
    let start = (array.address + z * slice + y * array.row() + x) as *mut u8;
    Ok(Rows { start, pitch: array.row(), slice })
}

/// The copy that `cudaMemcpy3DParms` describe.
///
/// # Errors
/// What CUDA gives for parameters that do not fit.
pub fn plan_3d(p: &cudaMemcpy3DParms) -> Result<Copy> {
    let direction = Direction::new(p.kind)?;
    let (to, to_element) = side_3d(p.dstArray, &p.dstPtr, p.dstPos)?;
    let (from, from_element) = side_3d(p.srcArray, &p.srcPtr, p.srcPos)?;
    if let (Some(a), Some(b)) = (to_element, from_element)
        && a != b
    {
        return Err(Error::INVALID_VALUE);
    }
    // Where an array takes part the width counts its elements, else bytes.
    let element = to_element.or(from_element).unwrap_or(1);
    let width = p.extent.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
    Copy::new(to, from, cudaExtent { width, ..p.extent }, direction)
}

/// # Safety
/// As [`copy_rows`].
unsafe fn copy_3d(p: &cudaMemcpy3DParms, stream: cudaStream_t, sync: bool) -> Result {
    let stream = stream::resolve(stream)?;
    let copy = plan_3d(p)?;
    if !capture::add(stream, || Work::Copy(copy, call_site::callers()))? {
        // SAFETY: as the caller vouches.
        unsafe { copy.act(stream, Waits::of_call(sync)) }?;
    }
    Ok(())
}

/// A copy of `count` bytes.
///
/// # Errors
/// What CUDA gives for parameters that do not fit.
pub fn plan_1d(to: *mut c_void, from: *const c_void, count: usize, kind: u32) -> Result<Copy> {
    let extent = cudaExtent { width: count, height: 1, depth: 1 };
    Copy::new(flat(to, count), flat(from.cast_mut(), count), extent, Direction::new(kind)?)
}

fn without_devices(p: &cudaMemcpy3DPeerParms) -> Result<cudaMemcpy3DParms> {
    device::check(p.srcDevice)?;
    device::check(p.dstDevice)?;
    Ok(cudaMemcpy3DParms {
        srcArray: p.srcArray,
        srcPos: p.srcPos,
        srcPtr: p.srcPtr,
        dstArray: p.dstArray,
        dstPos: p.dstPos,
        dstPtr: p.dstPtr,
        extent: p.extent,
        kind: 4,
    })
}

/// A copy into an array from `(x, y)` on.
///
/// # Safety
/// As [`copy_rows`].
unsafe fn copy_to_array(
    (to, x, y): (*mut c_void, usize, usize),
    (from, pitch): (*const c_void, usize),
    (width, height): (usize, usize),
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let array = array::lookup(to)?;
    array.check_rectangle(x, y, width, height)?;
    let rows = array_rows(&array, x, y, 0)?;
    // SAFETY: as the caller vouches.
    unsafe { copy_2d((rows.start.cast(), rows.pitch), (from, pitch), (width, height), kind, stream, sync) }
}

/// A copy out of an array from `(x, y)` on.
///
/// # Safety
/// As [`copy_rows`].
unsafe fn copy_from_array(
    (to, pitch): (*mut c_void, usize),
    (from, x, y): (*mut c_void, usize, usize),
    (width, height): (usize, usize),
    kind: u32,
    stream: cudaStream_t,
    sync: bool,
) -> Result {
    let array = array::lookup(from)?;
    array.check_rectangle(x, y, width, height)?;
    let rows = array_rows(&array, x, y, 0)?;
    // SAFETY: as the caller vouches.
    unsafe { copy_2d((to, pitch), (rows.start.cast(), rows.pitch), (width, height), kind, stream, sync) }
}

/// A fill of `extent` (bytes, rows, slices) whose memory was checked.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    rows: Rows,
    /// What is repeated: so many bytes of the value.
    value: u32,
    element: usize,
    extent: cudaExtent,
}

impl Fill {
    /// # Errors
    /// `cudaErrorInvalidValue` or `cudaErrorInvalidPitchValue` where the memory
    /// cannot be filled.
    fn new(rows: Rows, value: u32, element: usize, extent: cudaExtent) -> Result<Self> {
        if !matches!(element, 1 | 2 | 4) {
            return Err(Error::INVALID_VALUE);
        }
        let fill = Self { rows, value, element, extent };
        fill.check().map(|()| fill)
    }

    /// The fill that `cudaMemsetParams` describe.
    ///
    /// # Errors
    /// What CUDA gives for parameters that do not fit.
    pub fn of_node(p: &cudaMemsetParams) -> Result<Self> {
        let element = p.elementSize as usize;
        let width = p.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
        let pitch = if p.height > 1 { p.pitch } else { width };
        Self::new(flat(p.dst, pitch), p.value, element, cudaExtent { width, height: p.height, depth: 1 })
    }

    fn check(&self) -> Result {
        let (rows, extent) = (self.rows, self.extent);
        if is_empty(extent) {
            return Ok(());
        }
        if extent.height > 1 && rows.pitch < extent.width {
            return Err(Error::INVALID_PITCH_VALUE);
        }
        check_side(rows.start.cast(), span(rows, extent).ok_or(Error::INVALID_VALUE)?, Side::Device)
    }

    /// Fills on `stream`, as part of a graph: nobody waits for it.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory was freed since.
    pub fn run(&self, stream: StreamId) -> Result {
        self.check()?;
        // SAFETY: checked.
        unsafe { self.act(stream, Waits::InGraph) }
    }

    /// # Safety
    /// The memory was checked.
    unsafe fn act(&self, stream: StreamId, waits: Waits) -> Result {
        let (rows, extent) = (self.rows, self.extent);
        if is_empty(extent) {
            return transfer::nothing(stream, waits);
        }
        let wait = transfer::begin(stream, rows.touched(extent), None, waits);
        // SAFETY: as the caller vouches.
        unsafe { backend::get().fill(rows, (self.value, self.element), extent, stream, wait) }
    }
}

/// Sets `extent` (bytes, rows, slices) to `value`.
///
/// # Safety
/// Device memory is checked; nothing else is written.
unsafe fn fill(rows: Rows, value: c_int, extent: cudaExtent, stream: cudaStream_t, sync: bool) -> Result {
    let stream = stream::resolve(stream)?;
    let fill = Fill::new(rows, value as u32, 1, extent)?;
    if !capture::add(stream, || Work::Fill(fill, call_site::callers()))? {
        // SAFETY: checked.
        unsafe { fill.act(stream, Waits::of_call(sync)) }?;
    }
    Ok(())
}

fn flat(pointer: *mut c_void, pitch: usize) -> Rows {
    Rows { start: pointer.cast(), pitch, slice: 0 }
}

fn pitched(pointer: &cudaPitchedPtr) -> Result<Rows> {
    let slice = pointer.pitch.checked_mul(pointer.ysize).ok_or(Error::INVALID_VALUE)?;
    Ok(Rows { start: pointer.ptr.cast(), pitch: pointer.pitch, slice })
}

/// The `count` bytes of a device variable from `offset` on.
///
/// # Safety
/// `symbol` is any address.
///
/// # Errors
/// `cudaErrorInvalidSymbol`, or `cudaErrorInvalidValue` where the variable ends before.
pub unsafe fn symbol_bytes(symbol: *const c_void, count: usize, offset: usize) -> Result<*mut c_void> {
    let variable = modules::variable_of_symbol(symbol)?;
    match offset.checked_add(count) {
        Some(end) if end <= variable.size => Ok((variable.address + offset) as *mut c_void),
        _ => Err(Error::INVALID_VALUE),
    }
}

api! {
    @ptds fn cudaMemcpy(to: *mut c_void, from: *const c_void, count: usize, kind: u32) {
        copy_bytes(to, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, count: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(to, from, count, kind, stream, false)
    }

    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize) {
        device::check(to_device)?;
        device::check(from_device)?;
        copy_bytes(to, from, count, 3, DEFAULT, true)
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize, stream: cudaStream_t) {
        device::check(to_device)?;
        device::check(from_device)?;
        copy_bytes(to, from, count, 3, stream, false)
    }

    @ptds fn cudaMemcpy2D(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32) {
        copy_2d((to, to_pitch), (from, from_pitch), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DAsync(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        copy_2d((to, to_pitch), (from, from_pitch), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy3D(p: *const cudaMemcpy3DParms) { copy_3d(get(p)?, DEFAULT, true) }

    @ptsz fn cudaMemcpy3DAsync(p: *const cudaMemcpy3DParms, stream: cudaStream_t) { copy_3d(get(p)?, stream, false) }

    @ptds fn cudaMemcpy3DPeer(p: *const cudaMemcpy3DPeerParms) { copy_3d(&without_devices(get(p)?)?, DEFAULT, true) }

    @ptsz fn cudaMemcpy3DPeerAsync(p: *const cudaMemcpy3DPeerParms, stream: cudaStream_t) {
        copy_3d(&without_devices(get(p)?)?, stream, false)
    }

    @ptds fn cudaMemcpy2DToArray(to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32) {
        copy_to_array((to, x, y), (from, pitch), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        copy_to_array((to, x, y), (from, pitch), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy2DFromArray(to: *mut c_void, pitch: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        copy_from_array((to, pitch), (from, x, y), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DFromArrayAsync(to: *mut c_void, pitch: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        copy_from_array((to, pitch), (from, x, y), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy2DArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        let source = array::lookup(from)?;
        source.check_rectangle(x, y, width, height)?;
        let rows = array_rows(&source, x, y, 0)?;
        copy_to_array((to, to_x, to_y), (rows.start.cast(), rows.pitch), (width, height), kind, DEFAULT, true)
    }

    @ptds fn cudaMemcpyToArray(to: *mut c_void, x: usize, y: usize, from: *const c_void, count: usize, kind: u32) {
        let rest = array::lookup(to)?.rest(x, y, count)?;
        copy_bytes(rest, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, count: usize, kind: u32, stream: cudaStream_t) {
        let rest = array::lookup(to)?.rest(x, y, count)?;
        copy_bytes(rest, from, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyFromArray(to: *mut c_void, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let rest = array::lookup(from)?.rest(x, y, count)?;
        copy_bytes(to, rest, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyFromArrayAsync(to: *mut c_void, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32, stream: cudaStream_t) {
        let rest = array::lookup(from)?.rest(x, y, count)?;
        copy_bytes(to, rest, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let source = array::lookup(from)?.rest(x, y, count)?;
        let destination = array::lookup(to)?.rest(to_x, to_y, count)?;
        copy_bytes(destination, source, count, kind, DEFAULT, true)
    }

    @ptds fn cudaMemcpyToSymbol(symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(symbol_bytes(symbol, count, offset)?, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyToSymbolAsync(symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(symbol_bytes(symbol, count, offset)?, from, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyFromSymbol(to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(to, symbol_bytes(symbol, count, offset)?, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyFromSymbolAsync(to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(to, symbol_bytes(symbol, count, offset)?, count, kind, stream, false)
    }

    fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) {
        put(to, modules::variable_of_symbol(symbol)?.address as *mut c_void)
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) {
        put(to, modules::variable_of_symbol(symbol)?.size)
    }

    @ptds fn cudaMemset(to: *mut c_void, value: c_int, count: usize) {
        fill(flat(to, count), value, cudaExtent { width: count, height: 1, depth: 1 }, DEFAULT, true)
    }

    @ptsz fn cudaMemsetAsync(to: *mut c_void, value: c_int, count: usize, stream: cudaStream_t) {
        fill(flat(to, count), value, cudaExtent { width: count, height: 1, depth: 1 }, stream, false)
    }

    @ptds fn cudaMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill(flat(to, pitch), value, cudaExtent { width, height, depth: 1 }, DEFAULT, true)
    }

    @ptsz fn cudaMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t) {
        fill(flat(to, pitch), value, cudaExtent { width, height, depth: 1 }, stream, false)
    }

    @ptds fn cudaMemset3D(to: cudaPitchedPtr, value: c_int, extent: cudaExtent) {
        fill(pitched(&to)?, value, extent, DEFAULT, true)
    }

    @ptsz fn cudaMemset3DAsync(to: cudaPitchedPtr, value: c_int, extent: cudaExtent, stream: cudaStream_t) {
        fill(pitched(&to)?, value, extent, stream, false)
    }
}
