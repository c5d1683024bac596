//! `llvm.nvvm.wmma.*`: matrices that a warp holds together.
//!
//! PTX leaves open which lane holds which element of a fragment (`wmma.load`). Here, element `e` of lane `l`
//! is element `32 e + l` of the matrix, counted row by row and modulo the number of elements
//! (`gpurace_abi::matrix`). Loads and stores become one access per element. [`Entry::Matrix`] computes the
//! product once all lanes have arrived.

use gpurace_abi::context::offset;
use gpurace_abi::entry::Entry;
use gpurace_abi::matrix::{ElementType as Kind, Layout, Product, Shape};

use super::template::{Signature, entry_call};

/// The operation of an intrinsic of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Loads or stores a matrix.
    Move {
        /// Rows.
        rows: u32,
        /// Columns.
        columns: u32,
        /// True if the columns follow each other in memory instead of the rows.
        by_column: bool,
        /// Bytes of an element.
        bytes: u32,
        /// True if it stores.
        store: bool,
    },
    /// Multiplies and adds.
    Multiply(Product),
}

/// The operation of an intrinsic, by its name without `llvm.nvvm.`. `None` for other families, and
/// for unmodelled intrinsics of this one.
pub fn parse(name: &str) -> Option<Matrix> {
    let mut words = name.split('.');
    if words.next()? != "wmma" {
        return None;
    }
    let shape = Shape::named(words.next()?).filter(|shape| shape.k <= 16)?;
    let operation = words.next()?;
    let rest: Vec<&str> = words.filter(|word| !matches!(*word, "p0" | "p1" | "p3")).collect();
    match (operation, rest.as_slice()) {
        ("load" | "store", [which, layout @ ("row" | "col"), "stride", kind]) => {
            let (rows, columns) = match *which {
                "a" => (shape.m, shape.k),
                "b" => (shape.k, shape.n),
                _ => (shape.m, shape.n),
            };
            let bytes = Kind::named(kind)?.bytes();
            Some(Matrix::Move {
                rows,
                columns,
                by_column: *layout == "col",
                bytes,
                store: operation == "store",
            })
        }
        ("mma", ["row" | "col", "row" | "col", kinds @ ..]) => {
            let saturates = kinds.contains(&"satfinite");
            let kinds: Vec<_> = kinds.iter().filter(|word| **word != "satfinite").collect();
            let (ab, c, d) = match kinds.as_slice() {
                // For halves, the name has the types of the result and of the addend.
                [d, c] => (Kind::F16, Kind::named(c)?, Kind::named(d)?),
                [ab] => {
                    let ab = Kind::named(ab)?;
                    let sum = match ab {
                        Kind::Bf16 | Kind::Tf32 => Kind::F32,
                        Kind::F64 => Kind::F64,
                        Kind::S8 | Kind::U8 => Kind::S32,
                        Kind::F16 | Kind::F32 | Kind::S32 | Kind::E4m3 | Kind::E5m2 => return None,
                    };
                    (ab, sum, sum)
                }
                _ => return None,
            };
            Some(Matrix::Multiply(Product { shape, layout: Layout::Round, a: ab, b: ab, c, d, saturates }))
        }
        _ => None,
    }
}

/// Bits of a type that registers have.
fn bits(ty: &str) -> Option<u32> {
    Some(match ty {
        "i32" | "float" | "<2 x half>" => 32,
        "double" => 64,
        _ => return None,
    })
}

/// The registers of a result.
fn fields(result: &str) -> Vec<&str> {
    match result.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        // No register has a comma in its type.
        Some(inner) => inner.split(',').map(str::trim).collect(),
        None => vec![result],
    }
}

/// Reads the result's registers from `%buffer` plus `start` bytes, and returns them.
fn gather(result: &str, start: u32) -> Option<String> {
    let fields = fields(result);
    let (mut text, mut at, mut whole) = (String::new(), start, "poison".to_owned());
    for (i, ty) in fields.iter().enumerate() {
        text += &format!(
            "%f{i} = getelementptr i8, ptr %buffer, i64 {at}\n%g{i} = load {ty}, ptr %f{i}, align 4\n"
        );
        at += bits(ty)? / 8;
        if fields.len() > 1 {
            text += &format!("%h{i} = insertvalue {result} {whole}, {ty} %g{i}, {i}\n");
            whole = format!("%h{i}");
        }
    }
    let value = if fields.len() > 1 { whole } else { "%g0".to_owned() };
    Some(text + &format!("ret {result} {value}"))
}

/// Writes registers, the parameters from `first` on, to `%buffer`. Returns their number of bytes.
fn scatter(params: &[String], first: usize, text: &mut String) -> Option<u32> {
    let mut at = 0;
    for (i, ty) in params.iter().enumerate() {
        *text += &format!(
            "%s{i} = getelementptr i8, ptr %buffer, i64 {at}\nstore {ty} %{}, ptr %s{i}, align 4\n",
            first + i
        );
        at += bits(ty)? / 8;
    }
    Some(at)
}

/// The body of the function that replaces the intrinsic. `None` if its types do not fit its name.
pub fn body(matrix: Matrix, signature: &Signature) -> Option<String> {
    let mut text = "%buffer = alloca [512 x i8], align 16\n".to_owned();
    match matrix {
        Matrix::Multiply(product) => {
            let start = scatter(&signature.params, 0, &mut text)?;
            text +=
                &format!("{}\n", entry_call(Entry::Matrix, &[&product.word().to_string(), "-1", "%buffer"]));
            Some(text + &gather(&signature.result, start)?)
        }
        Matrix::Move { rows, columns, by_column, bytes, store } => {
            let (pointer, values, stride) = match (store, signature.params.as_slice()) {
                (true, [pointer, values @ .., stride]) => (pointer, values, stride),
                (false, [pointer, stride]) => (pointer, [].as_slice(), stride),
                _ => return None,
            };
            let held = match store {
                true => scatter(values, 1, &mut text)?,
                false => fields(&signature.result).into_iter().map(bits).sum::<Option<u32>>()? / 8,
            };
            if !pointer.starts_with("ptr") || stride != "i32" {
                return None;
            }
            let last = signature.params.len() - 1;
            text += &format!(
                "%lane = call i32 @gr.ctx.i32(i64 {}, i64 0)\n%l = zext i32 %lane to i64\n%stride = sext i32 %{last} to i64\n",
                offset::LANE
            );
            let element = 8 * bytes;
            for e in 0..held / bytes {
                let (outer, inner) = if by_column { ("c", "r") } else { ("r", "c") };
                text += &format!(
                    "%n{e} = add i64 %l, {}\n%i{e} = and i64 %n{e}, {}\n%r{e} = lshr i64 %i{e}, {}\n\
                     %c{e} = and i64 %i{e}, {}\n%x{e} = mul i64 %{outer}{e}, %stride\n%o{e} = add i64 %x{e}, %{inner}{e}\n\
                     %p{e} = getelementptr i{element}, {pointer} %0, i64 %o{e}\n%b{e} = getelementptr i8, ptr %buffer, i64 {}\n",
                    32 * e,
                    rows * columns - 1,
                    columns.trailing_zeros(),
                    columns - 1,
                    e * bytes,
                );
                text += &match store {
                    true => format!(
                        "%v{e} = load i{element}, ptr %b{e}, align {bytes}\nstore i{element} %v{e}, {pointer} %p{e}, align {bytes}\n"
                    ),
                    false => format!(
                        "%v{e} = load i{element}, {pointer} %p{e}, align {bytes}\nstore i{element} %v{e}, ptr %b{e}, align {bytes}\n"
                    ),
                };
            }
            Some(if store { text + "ret void" } else { text + &gather(&signature.result, 0)? })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_shapes_and_types() {
        let moves = |rows, columns, by_column, bytes, store| {
            Some(Matrix::Move { rows, columns, by_column, bytes, store })
        };
        assert_eq!(parse("wmma.m16n16k16.load.a.row.stride.f16"), moves(16, 16, false, 2, false));
        assert_eq!(parse("wmma.m8n32k16.load.b.col.stride.s8.p0"), moves(16, 32, true, 1, false));
        assert_eq!(parse("wmma.m8n8k4.store.d.row.stride.f64.p3"), moves(8, 8, false, 8, true));
        let (shape, a, d) = (Shape { m: 16, n: 16, k: 8 }, Kind::Tf32, Kind::F32);
        let product = Product { shape, layout: Layout::Round, a, b: a, c: d, d, saturates: false };
        assert_eq!(parse("wmma.m16n16k8.mma.row.col.tf32"), Some(Matrix::Multiply(product)));
        for refused in [
            "wmma.m8n8k32.load.a.row.stride.s4",
            "wmma.m16n16k16.load.a.row.f16",
            "wmma.m8n8k128.mma.xor.popc.row.col.b1",
            "mma.m16n8k8.row.col.f32.f32",
        ] {
            assert_eq!(parse(refused), None, "{refused}");
        }
    }
}
