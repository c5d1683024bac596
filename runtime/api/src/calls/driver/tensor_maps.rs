//! Tensor maps, which describe tensors to the copies of kernels (`cp.async.bulk.tensor`).

use std::ffi::c_void;

use gpurace_abi::tensor_map::{MOST_DIMENSIONS, Swizzle, TensorMap, WORDS};
use gpurace_report::schema::Device;

use crate::calls::driver::export::driver_api;
use crate::host::errors::{Error, Result};
use crate::host::message;

/// The bytes of an element of each `CUtensorMapDataType`, and true if it is a floating-point number. The
/// packed types, which come after these, are refused.
const ELEMENTS: [(u64, bool); 13] = [
    (1, false),
    (2, false),
    (4, false),
    (4, false),
    (8, false),
    (8, false),
    (2, true),
    (4, true),
    (8, true),
    (2, true),
    (4, true),
    (4, true),
    (4, true),
];
/// The number of the last packed type.
const LAST_TYPE: u32 = 15;
/// `CU_TENSOR_MAP_INTERLEAVE_32B`, `CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B` and
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`: the last of their types.
const LAST_INTERLEAVE: u32 = 2;
const LAST_SWIZZLE: u32 = 6;
const LAST_PROMOTION: u32 = 3;

/// What `cuTensorMapEncodeTiled` is told beside its arrays.
#[derive(Clone, Copy)]
struct Kinds {
    element: u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

/// The arrays of `cuTensorMapEncodeTiled`, with one entry for each dimension.
#[derive(Clone, Copy)]
struct Extents<'a> {
    sizes: &'a [u64],
    /// Those of all dimensions but the first.
    strides: &'a [u64],
    spans: &'a [u32],
    steps: &'a [u32],
}

/// Checks what the documentation of `cuTensorMapEncodeTiled` demands.
fn tiled(address: u64, kinds: Kinds, of: Extents<'_>) -> Result<TensorMap> {
    let demand = |holds: bool| if holds { Ok(()) } else { Err(Error::INVALID_VALUE) };
    demand(kinds.element <= LAST_TYPE && kinds.interleave <= LAST_INTERLEAVE)?;
    demand(kinds.swizzle <= LAST_SWIZZLE && kinds.promotion <= LAST_PROMOTION && kinds.fill <= 1)?;
    let refuse = |what: &str| {
        message::error(&format!("`cuTensorMapEncodeTiled`: {what} are not supported"));
        Error::NOT_SUPPORTED
    };
    let &(element, is_float) =
        ELEMENTS.get(kinds.element as usize).ok_or_else(|| refuse("packed elements"))?;
    if kinds.interleave != 0 {
        return Err(refuse("interleaved layouts"));
    }
    let swizzle =
        Swizzle::from_number(kinds.swizzle).ok_or_else(|| refuse("swizzles of more than 16 bytes"))?;
    demand(address.is_multiple_of(16) && (is_float || kinds.fill == 0))?;
    demand(of.sizes.iter().all(|size| (1..=1 << 32).contains(size)))?;
    demand(of.strides.iter().all(|stride| stride.is_multiple_of(16) && *stride < 1 << 40))?;
    demand(of.spans.iter().all(|span| (1..=256).contains(span)))?;
    demand(of.steps.iter().all(|step| (1..=8).contains(step)))?;
    let row = u64::from(of.spans[0]) * element;
    demand(row.is_multiple_of(16) && swizzle.span().is_none_or(|span| row <= span))?;

    let rank = of.sizes.len();
    let mut map = TensorMap {
        address,
        rank,
        element,
        sizes: [1; MOST_DIMENSIONS],
        strides: [0; MOST_DIMENSIONS],
        spans: [1; MOST_DIMENSIONS],
        steps: [1; MOST_DIMENSIONS],
        swizzle,
        fills_nan: kinds.fill == 1,
    };
    map.sizes[..rank].copy_from_slice(of.sizes);
    map.strides[0] = element;
    map.strides[1..rank].copy_from_slice(of.strides);
    map.spans[..rank].copy_from_slice(of.spans);
    // Without interleaving, the first dimension has no step.
    map.steps[1..rank].copy_from_slice(&of.steps[1..]);
    Ok(map)
}

driver_api! { process;
    fn cuTensorMapEncodeTiled(
        map: *mut [u64; WORDS], element: u32, rank: u32, address: *mut c_void, sizes: *const u64,
        strides: *const u64, spans: *const u32, steps: *const u32, interleave: u32, swizzle: u32,
        promotion: u32, fill: u32,
    ) {
        let rank = rank as usize;
        let no_strides = strides.is_null() && rank > 1;
        if !(1..=MOST_DIMENSIONS).contains(&rank)
            || map.is_null()
            || !map.addr().is_multiple_of(64)
            || sizes.is_null()
            || no_strides
            || spans.is_null()
            || steps.is_null()
        {
            return Err(Error::INVALID_VALUE);
        }
        let extents = Extents {
            sizes: std::slice::from_raw_parts(sizes, rank),
            strides: if rank > 1 { std::slice::from_raw_parts(strides, rank - 1) } else { &[] },
            spans: std::slice::from_raw_parts(spans, rank),
            steps: std::slice::from_raw_parts(steps, rank),
        };
        if process.backend().device() != Device::Cpu {
            message::error("`cuTensorMapEncodeTiled`: tensor maps are not supported on a GPU");
            return Err(Error::NOT_SUPPORTED);
        }
        let kinds = Kinds { element, interleave, swizzle, promotion, fill };
        *map = tiled(address.expose_provenance() as u64, kinds, extents)?.encode();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: Kinds = Kinds { element: 7, interleave: 0, swizzle: 0, promotion: 0, fill: 0 };
    const MATRIX: Extents<'_> =
        Extents { sizes: &[100, 50], strides: &[400], spans: &[32, 8], steps: &[1, 1] };

    #[test]
    fn a_map_holds_what_it_was_told() {
        let of = Extents { steps: &[5, 2], ..MATRIX };
        let map = tiled(4096, Kinds { swizzle: 3, fill: 1, ..F32 }, of).unwrap();
        assert_eq!((map.rank, map.element, map.strides), (2, 4, [4, 400, 0, 0, 0]));
        assert_eq!(
            (map.sizes, map.spans, map.steps),
            ([100, 50, 1, 1, 1], [32, 8, 1, 1, 1], [1, 2, 1, 1, 1])
        );
        assert_eq!((map.swizzle, map.fills_nan, map.box_bytes()), (Swizzle::Bytes128, true, 32 * 4 * 4));
    }

    #[test]
    fn what_the_documentation_forbids_is_an_invalid_value() {
        let wrong = [
            (8, F32, MATRIX),
            (4096, Kinds { element: 16, ..F32 }, MATRIX),
            (4096, Kinds { interleave: 3, ..F32 }, MATRIX),
            (4096, Kinds { swizzle: 7, ..F32 }, MATRIX),
            (4096, Kinds { promotion: 4, ..F32 }, MATRIX),
            (4096, Kinds { fill: 2, ..F32 }, MATRIX),
            // NaNs among integers.
            (4096, Kinds { element: 3, fill: 1, ..F32 }, MATRIX),
            // A row of 128 bytes in a swizzle of 64.
            (4096, Kinds { swizzle: 2, ..F32 }, MATRIX),
            (4096, F32, Extents { sizes: &[100, 0], ..MATRIX }),
            (4096, F32, Extents { sizes: &[100, (1 << 32) + 1], ..MATRIX }),
            (4096, F32, Extents { strides: &[404], ..MATRIX }),
            (4096, F32, Extents { strides: &[1 << 40], ..MATRIX }),
            (4096, F32, Extents { spans: &[257, 8], ..MATRIX }),
            (4096, F32, Extents { spans: &[32, 0], ..MATRIX }),
            // A row of 12 bytes.
            (4096, F32, Extents { spans: &[3, 8], ..MATRIX }),
            (4096, F32, Extents { steps: &[1, 9], ..MATRIX }),
            (4096, F32, Extents { steps: &[1, 0], ..MATRIX }),
        ];
        for (n, (address, kinds, of)) in wrong.into_iter().enumerate() {
            assert_eq!(tiled(address, kinds, of), Err(Error::INVALID_VALUE), "{n}");
        }
    }

    #[test]
    fn other_layouts_are_refused() {
        for kinds in
            [Kinds { element: 13, ..F32 }, Kinds { interleave: 1, ..F32 }, Kinds { swizzle: 4, ..F32 }]
        {
            assert_eq!(tiled(4096, kinds, MATRIX), Err(Error::NOT_SUPPORTED));
        }
    }
}
