//! Code for NVIDIA GPUs in a container. Each architecture that a program was built for has a
//! description, PTX, and the processor's own code if the build could make it.
//!
//! The sections of one architecture are consecutive, its description first.

use core::fmt;
use core::mem::size_of;

use crate::image::{GpuHeader, SectionKind};

/// An architecture that code is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// 80 for `sm_80`.
    pub number: u32,
    /// The code may use instructions that later processors lack (`sm_90a`).
    pub alone: bool,
}

impl Arch {
    /// The architecture of a name such as `sm_90a`.
    pub fn of_name(name: &str) -> Option<Self> {
        let number = name.strip_prefix("sm_")?;
        let digits = number.trim_end_matches('a');
        // Names with other letters are of unknown architectures.
        (number.len() - digits.len() <= 1)
            .then(|| Some(Self { number: digits.parse().ok()?, alone: number != digits }))
            .flatten()
    }

    /// True if PTX for it serves a GPU of this number.
    pub fn serves(self, gpu: u32) -> bool {
        if self.alone { self.number == gpu } else { self.number <= gpu }
    }

    /// True if the processor's own code for it runs on a GPU of this number: the same number, or a
    /// greater one with the same major number (CUDA C++ Programming Guide, "Binary Compatibility").
    pub fn runs_on(self, gpu: u32) -> bool {
        self.number == gpu || (!self.alone && self.number / 10 == gpu / 10 && self.number < gpu)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.alone { "a" } else { "" })
    }
}

/// Code for one architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuCode<'a> {
    /// Its description, as JSON. Its sites are numbered on their own.
    pub meta: &'a [u8],
    /// PTX that ends with a nul.
    pub ptx: Option<(Arch, &'a [u8])>,
    /// The processor's own code.
    pub sass: Option<(Arch, &'a [u8])>,
}

impl GpuCode<'_> {
    /// A measure of how well it suits a GPU; `None` if it does not run there.
    fn suits(&self, gpu: u32) -> Option<impl Ord + use<>> {
        let own = self.sass.filter(|(arch, _)| arch.runs_on(gpu)).map(|(arch, _)| (1, arch));
        let any = self.ptx.filter(|(arch, _)| arch.serves(gpu)).map(|(arch, _)| (0, arch));
        own.max(any)
    }
}

/// The code in a container's sections, by kind and content.
pub fn in_sections<'a>(sections: impl IntoIterator<Item = (u32, &'a [u8])>) -> Vec<GpuCode<'a>> {
    let mut found: Vec<GpuCode<'a>> = Vec::new();
    for (kind, content) in sections {
        if kind == SectionKind::GpuMeta as u32 {
            found.push(GpuCode { meta: content, ..GpuCode::default() });
        } else if let Some(code) = found.last_mut() {
            if kind == SectionKind::GpuPtx as u32 {
                code.ptx = of_section(content);
            } else if kind == SectionKind::GpuSass as u32 {
                code.sass = of_section(content);
            }
        }
    }
    found.retain(|code| code.ptx.is_some() || code.sass.is_some());
    found
}

/// The code that suits a GPU best: the processor's own before PTX, later architectures before
/// earlier ones.
pub fn best(codes: &[GpuCode<'_>], gpu: u32) -> Option<usize> {
    let suiting = codes.iter().enumerate().filter_map(|(at, code)| Some((code.suits(gpu)?, at)));
    suiting.max().map(|(_, at)| at)
}

/// The content of a section with code.
pub fn section(arch: Arch, code: &[u8]) -> Vec<u8> {
    let mut out = arch.number.to_le_bytes().to_vec();
    out.extend_from_slice(&u32::from(arch.alone).to_le_bytes());
    out.resize(size_of::<GpuHeader>(), 0);
    out.extend_from_slice(code);
    out
}

fn of_section(content: &[u8]) -> Option<(Arch, &[u8])> {
    let (header, code) = content.split_at_checked(size_of::<GpuHeader>())?;
    let number = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((Arch { number: number(0)?, alone: number(4)? != 0 }, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(name: &str) -> Arch {
        Arch::of_name(name).unwrap()
    }

    #[test]
    fn names_are_read() {
        assert_eq!(arch("sm_80"), Arch { number: 80, alone: false });
        assert_eq!(arch("sm_90a"), Arch { number: 90, alone: true });
        assert_eq!(arch("sm_100").number, 100);
        for name in ["sm_80", "sm_90a"] {
            assert_eq!(arch(name).to_string(), name);
        }
        for other in ["gfx906", "sm_", "sm_a", "sm_100f", "sm_90aa", "compute_80", "80"] {
            assert_eq!(Arch::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn code_runs_where_cuda_says() {
        assert!(arch("sm_70").serves(90) && arch("sm_90").serves(90) && !arch("sm_90").serves(89));
        assert!(arch("sm_90a").serves(90) && !arch("sm_90a").serves(100));
        assert!(arch("sm_80").runs_on(86) && !arch("sm_86").runs_on(80) && !arch("sm_80").runs_on(90));
        assert!(arch("sm_90a").runs_on(90) && !arch("sm_100a").runs_on(103));
    }

    #[test]
    fn the_code_that_suits_a_gpu_best_is_found() {
        let of = |name: &str, has_own: bool| {
            let all = [section(arch(name), b"ptx"), section(arch(name), b"sass")];
            (name.to_owned(), all, has_own)
        };
        let built = [of("sm_70", true), of("sm_80", true), of("sm_90a", true), of("sm_90", false)];
        let sections = built.iter().flat_map(|(name, [ptx, sass], has_own)| {
            let meta = (SectionKind::GpuMeta as u32, name.as_bytes());
            let own = has_own.then_some((SectionKind::GpuSass as u32, &sass[..]));
            [Some((1, &b"an image"[..])), Some(meta), Some((SectionKind::GpuPtx as u32, &ptx[..])), own]
        });
        let codes = in_sections(sections.flatten());
        assert_eq!(codes.len(), 4);
        assert_eq!(codes[2].ptx, Some((arch("sm_90a"), &b"ptx"[..])));
        assert_eq!(codes[3].sass, None);
        let best = |gpu| best(&codes, gpu).map(|at| std::str::from_utf8(codes[at].meta).unwrap());
        assert_eq!(best(60), None);
        assert_eq!(best(70), Some("sm_70"));
        assert_eq!(best(75), Some("sm_70"), "its own code, which `sm_75` runs");
        assert_eq!(best(80), Some("sm_80"));
        assert_eq!(best(86), Some("sm_80"));
        assert_eq!(best(90), Some("sm_90a"), "its own code before PTX");
        assert_eq!(best(100), Some("sm_90"), "PTX of the latest that is not for one processor alone");
    }
}
