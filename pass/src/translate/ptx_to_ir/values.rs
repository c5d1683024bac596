//! Instructions on values, and moves.

use crate::translate::nvvm::template::{self, Signature};
use crate::translate::ptx::op::Operand;
use crate::translate::ptx::types::Ty;

use super::body::{Body, Refused, Translated};

impl Body<'_> {
    /// Computes an instruction on values.
    pub(super) fn computed(&mut self, name: &str, d: &[(Ty, Operand)], of: &[(Ty, Operand)]) -> Translated {
        let values: Vec<_> =
            of.iter().map(|(ty, operand)| self.get(operand, *ty)).collect::<Result<_, _>>()?;
        let (result, ir) = self.result(name, &values)?;
        if let [(ty, d)] = d {
            let (bits, _) = self.bits_of(&result, &ir).ok_or(Refused)?;
            return self.set(d, *ty, &bits);
        }
        for (i, (ty, d)) in d.iter().enumerate() {
            let bits = self.value(format_args!("extractvalue {ir} {result}, {i}"));
            self.set(d, *ty, &bits)?;
        }
        Ok(())
    }

    /// The result of an instruction on values, and its IR type. The operands are bits.
    pub(super) fn result(&mut self, name: &str, operands: &[String]) -> Translated<(String, String)> {
        let types = template::value_types(name).ok_or(Refused)?;
        let Signature { result, params } = types.signature();
        let mut list = Vec::new();
        for ((bits, ty), ir) in operands.iter().zip(&types.params).zip(&params) {
            let from = Ty::from_suffix(ty).map_or(1, Ty::bits);
            list.push(format!("{ir} {}", self.typed(bits, from, ir).ok_or(Refused)?));
        }
        let call = format!("call {result} @{}{name}({})", template::PREFIX, list.join(", "));
        Ok((self.value(call), result))
    }

    /// A move, which may pack or unpack.
    pub(super) fn moved(&mut self, ty: Ty, d: &Operand, a: &Operand) -> Translated {
        let bits = ty.bits();
        match (d, a) {
            (Operand::Vector(parts), _) => {
                let value = self.get(a, ty)?;
                let part = Ty::B(bits / parts.len() as u16);
                for (i, d) in parts.iter().enumerate() {
                    let moved =
                        self.value(format_args!("lshr i{bits} {value}, {}", i * usize::from(part.bits())));
                    let moved = self.resize(&moved, bits, part.bits(), "zext");
                    self.set(d, part, &moved)?;
                }
                Ok(())
            }
            (_, Operand::Vector(parts)) => {
                let part = Ty::B(bits / parts.len() as u16);
                let mut whole = "0".to_owned();
                for (i, a) in parts.iter().enumerate() {
                    let value = self.get(a, part)?;
                    let value = self.resize(&value, part.bits(), bits, "zext");
                    let value =
                        self.value(format_args!("shl i{bits} {value}, {}", i * usize::from(part.bits())));
                    whole = self.value(format_args!("or i{bits} {whole}, {value}"));
                }
                self.set(d, ty, &whole)
            }
            _ => {
                let value = self.get(a, ty)?;
                self.set(d, Ty::B(bits), &value)
            }
        }
    }
}
