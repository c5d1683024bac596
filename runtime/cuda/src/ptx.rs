//! The version of PTX.
//!
//! clang writes PTX of the toolkit's version. A driver refuses PTX that is newer than itself, even
//! if it knows every instruction: the driver of CUDA 12.4 refuses PTX of CUDA 12.5. Therefore PTX
//! that is too new is declared to be of the newest version that the driver knows, and the driver's
//! compiler decides if it can compile it.

/// The directive before the version.
const DIRECTIVE: &[u8] = b".version ";

/// A version, such as 8.5.
pub type Version = (u32, u32);

/// The newest version that a driver knows, by the driver's version (12040 for CUDA 12.4). `None` if
/// the driver is newer than this table. Source: PTX ISA, "Release Notes".
pub fn known_to(driver: i32) -> Option<Version> {
    let (major, minor) = (driver / 1000, driver.rem_euclid(1000) as u32 / 10);
    match (major, minor) {
        (..=9, _) => Some((6, 0)),
        (10, minor) => Some((6, 3 + minor)),
        (11, minor) => Some((7, minor)),
        (12, minor @ ..=5) => Some((8, minor)),
        (12, minor @ 6..=8) => Some((8, minor - 1)),
        _ => None,
    }
}

/// The PTX's version, and its place in the text.
fn version(ptx: &[u8]) -> Option<(Version, std::ops::Range<usize>)> {
    let is_directive = |at: &usize| ptx[*at..].starts_with(DIRECTIVE) && (*at == 0 || ptx[at - 1] == b'\n');
    let start = (0..ptx.len()).find(is_directive)? + DIRECTIVE.len();
    let length = ptx[start..].iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count();
    let text = std::str::from_utf8(&ptx[start..start + length]).ok()?;
    let (major, minor) = text.split_once('.')?;
    Some(((major.parse().ok()?, minor.parse().ok()?), start..start + length))
}

/// The PTX, declared to be of version `known`, and its own version. `None` if it is not newer.
pub fn lowered(ptx: &[u8], known: Version) -> Option<(Vec<u8>, Version)> {
    let (own, place) = version(ptx)?;
    if own <= known {
        return None;
    }
    let mut out = ptx[..place.start].to_vec();
    out.extend_from_slice(format!("{}.{}", known.0, known.1).as_bytes());
    out.extend_from_slice(&ptx[place.end..]);
    Some((out, own))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &[u8] = b"//\n// .version 1.0\n//\n\n.version 8.5\n.target sm_90\n// 8.5\n\0";

    #[test]
    fn drivers_know_the_versions_of_their_toolkits() {
        let wanted = [
            (9020, Some((6, 0))),
            (10020, Some((6, 5))),
            (11000, Some((7, 0))),
            (11080, Some((7, 8))),
            (12000, Some((8, 0))),
            (12040, Some((8, 4))),
            (12050, Some((8, 5))),
            (12060, Some((8, 5))),
            (12080, Some((8, 7))),
            (12090, None),
            (13000, None),
        ];
        for (driver, known) in wanted {
            assert_eq!(known_to(driver), known, "{driver}");
        }
    }

    #[test]
    fn only_what_is_too_new_is_lowered() {
        let (text, own) = lowered(PTX, (8, 4)).unwrap();
        assert_eq!(text, b"//\n// .version 1.0\n//\n\n.version 8.4\n.target sm_90\n// 8.5\n\0");
        assert_eq!(own, (8, 5));
        assert_eq!(lowered(PTX, (8, 5)), None);
        assert_eq!(lowered(PTX, (9, 0)), None);
        assert_eq!(lowered(b"// nothing\n\0", (7, 0)), None);
        assert_eq!(lowered(b".version what\n\0", (7, 0)), None);
        assert_eq!(lowered(b".version 7.10\n\0", (7, 8)).unwrap().0, b".version 7.8\n\0");
    }
}
