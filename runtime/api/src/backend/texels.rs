//! The format of texels, as CUDA describes it and as backends take it.

use gpurace_abi::texture::{ComponentKind, TexelFormat};

use crate::host::errors::{Error, Result};
use crate::host::types::cudaChannelFormatDesc;

/// The format of texels with this description.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor` if textures have no such texels.
pub fn texel_format(desc: &cudaChannelFormatDesc) -> Result<TexelFormat> {
    let bits = [desc.x, desc.y, desc.z, desc.w];
    let components = bits.iter().take_while(|&&bits| bits != 0).count();
    let equal = bits[..components].iter().all(|&b| b == bits[0]);
    let kind = match desc.f {
        0 => ComponentKind::Signed,
        1 => ComponentKind::Unsigned,
        2 => ComponentKind::Float,
        _ => return Err(Error::INVALID_CHANNEL_DESCRIPTOR),
    };
    let width = match (kind, bits[0]) {
        (ComponentKind::Float, 16 | 32) | (ComponentKind::Signed | ComponentKind::Unsigned, 8 | 16 | 32) => {
            bits[0] as u32
        }
        _ => return Err(Error::INVALID_CHANNEL_DESCRIPTOR),
    };
    let rest = bits[components..].iter().all(|&b| b == 0);
    if !equal || !rest || !matches!(components, 1 | 2 | 4) {
        return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
    }
    Ok(TexelFormat { components, bits: width, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_that_textures_have() {
        let desc = |x, y, z, w, f| cudaChannelFormatDesc { x, y, z, w, f };
        let bytes = |desc| texel_format(&desc).map(|format| format.bytes()).ok();
        assert_eq!(bytes(desc(8, 8, 8, 8, 1)), Some(4));
        assert_eq!(bytes(desc(32, 32, 32, 32, 2)), Some(16));
        assert_eq!(bytes(desc(16, 0, 0, 0, 2)), Some(2));
        for refused in [
            desc(8, 8, 8, 0, 1),
            desc(8, 16, 0, 0, 1),
            desc(8, 0, 8, 0, 1),
            desc(64, 0, 0, 0, 0),
            desc(8, 0, 0, 0, 2),
            desc(8, 0, 0, 0, 3),
            desc(0, 0, 0, 0, 0),
        ] {
            assert_eq!(bytes(refused), None, "{refused:?}");
        }
    }
}
