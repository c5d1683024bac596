//! Conversions to and from floats of 8 bits: `.e4m3x2` and `.e5m2x2`, two in 16 bits.

use crate::translate::ptx::op::{CvtRound, Operand};
use crate::translate::ptx::types::{Round, Ty};

use super::body::{Body, Refused, Translated};
use super::floats::{load, store};
use super::integers::{half, join};

/// A format (OCP 8-bit Floating Point Specification).
struct Format {
    /// Bits of fraction.
    fraction: u32,
    /// Exponent of the smallest normal number.
    least: i32,
    /// The largest finite number, as bits.
    largest: u32,
    /// The factor from a half with the same bits of exponent and fraction to the number.
    scale: u32,
}

impl Format {
    fn of(ty: Ty) -> Option<Self> {
        match ty {
            Ty::E4m3x2 => Some(Self { fraction: 3, least: -6, largest: 0x7e, scale: 256 }),
            Ty::E5m2x2 => Some(Self { fraction: 2, least: -14, largest: 0x7b, scale: 1 }),
            _ => None,
        }
    }
}

/// Converts between 8-bit floats and another type: `x`, of type `a_ty`, becomes bits of type `d_ty`. If
/// there are two sources, `y` gives the lower half.
pub(super) fn convert(
    body: &mut Body,
    (d_ty, a_ty): (Ty, Ty),
    round: Option<CvtRound>,
    (satfinite, relu): (bool, bool),
    x: &str,
    y: Option<&Operand>,
) -> Translated<String> {
    if round != Some(CvtRound::ToType(Round::Nearest)) {
        return Err(Refused);
    }
    if let Some(format) = Format::of(d_ty).filter(|_| satfinite) {
        let [low, high] = match (a_ty, y) {
            (Ty::F(32), Some(y)) => [body.get(y, a_ty)?, x.to_owned()].map(|bits| load(body, a_ty, &bits)),
            (Ty::F16x2, None) => [0, 16].map(|i| {
                let bits = half(body, x, i);
                load(body, Ty::F(16), &bits)
            }),
            _ => return Err(Refused),
        };
        let [low, high] = [low?.0, high?.0].map(|value| narrow(body, &format, &value, relu));
        let high = body.value(format_args!("shl i16 {high}, 8"));
        return Ok(body.value(format_args!("or i16 {high}, {low}")));
    }
    let (Some(format), Ty::F16x2, false) = (Format::of(a_ty), d_ty, satfinite) else { return Err(Refused) };
    let [low, high] = [0, 8].map(|shift| {
        let byte = body.value(format_args!("lshr i16 {x}, {shift}"));
        let byte = body.value(format_args!("and i16 {byte}, 255"));
        widen(body, &format, &byte, relu)
    });
    let (low, high) = (low?, high?);
    Ok(join(body, &low, &high))
}

/// The 8-bit float nearest to a `float`, or the largest finite one, in 16 bits.
fn narrow(body: &mut Body, format: &Format, value: &str, relu: bool) -> String {
    let bits = body.value(format_args!("bitcast float {value} to i32"));
    let magnitude = body.call("float", "llvm.fabs.f32", &[("float", value)]);
    // The number in steps of its exponent, rounded. Subnormal numbers have the steps of the smallest
    // normal number.
    let exponent = body.value(format_args!("lshr i32 {bits}, 23"));
    let exponent = body.value(format_args!("and i32 {exponent}, 255"));
    let least = (127 + format.least).to_string();
    let exponent = body.call("i32", "llvm.smax.i32", &[("i32", &exponent), ("i32", &least)]);
    // 2 to the power of `fraction - exponent`. A `float` can hold it, except for infinities and NaN.
    let scale = body.value(format_args!("sub i32 {}, {exponent}", 254 + format.fraction));
    let scale = body.call("i32", "llvm.smax.i32", &[("i32", &scale), ("i32", "1")]);
    let scale = body.value(format_args!("shl i32 {scale}, 23"));
    let scale = body.value(format_args!("bitcast i32 {scale} to float"));
    let steps = body.value(format_args!("fmul float {magnitude}, {scale}"));
    let steps = body.call("float", "llvm.roundeven.f32", &[("float", &steps)]);
    let steps = body.call("i32", "llvm.fptoui.sat.i32.f32", &[("float", &steps)]);
    let above = body.value(format_args!("sub i32 {exponent}, {least}"));
    let above = body.value(format_args!("shl i32 {above}, {}", format.fraction));
    let code = body.call("i32", "llvm.uadd.sat.i32", &[("i32", &above), ("i32", &steps)]);
    let code = body.call("i32", "llvm.umin.i32", &[("i32", &code), ("i32", &format.largest.to_string())]);
    let sign = body.value(format_args!("lshr i32 {bits}, 24"));
    let sign = body.value(format_args!("and i32 {sign}, 128"));
    let code = if relu {
        let negative = body.value(format_args!("icmp ne i32 {sign}, 0"));
        body.value(format_args!("select i1 {negative}, i32 0, i32 {code}"))
    } else {
        body.value(format_args!("or i32 {code}, {sign}"))
    };
    let nan = body.value(format_args!("fcmp uno float {value}, {value}"));
    let code = body.value(format_args!("select i1 {nan}, i32 127, i32 {code}"));
    body.resize(&code, 32, 16, "zext")
}

/// An 8-bit float as a half.
fn widen(body: &mut Body, format: &Format, byte: &str, relu: bool) -> Translated<String> {
    // The bits at the places of a half give a number that is too small by the difference of the biases.
    let unsigned = body.value(format_args!("and i16 {byte}, 127"));
    let magnitude = body.value(format_args!("shl i16 {unsigned}, {}", 10 - format.fraction));
    let small = load(body, Ty::F(16), &magnitude)?.0;
    let value = body.value(format_args!("fmul float {small}, {}.0", format.scale));
    let bits = store(body, Ty::F(16), &value)?;
    let sign = body.value(format_args!("shl i16 {byte}, 8"));
    let sign = body.value(format_args!("and i16 {sign}, -32768"));
    let bits = if relu {
        let negative = body.value(format_args!("icmp ne i16 {sign}, 0"));
        body.value(format_args!("select i1 {negative}, i16 0, i16 {bits}"))
    } else {
        body.value(format_args!("or i16 {bits}, {sign}"))
    };
    // With 5 bits of exponent, the largest exponent stands for infinities and NaN, as in a half. With 4
    // bits, only one pattern is NaN.
    let nan = match format.fraction {
        3 => body.value(format_args!("icmp eq i16 {unsigned}, 127")),
        _ => body.value(format_args!("icmp ugt i16 {unsigned}, 124")),
    };
    Ok(body.value(format_args!("select i1 {nan}, i16 32767, i16 {bits}")))
}
