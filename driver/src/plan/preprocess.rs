//! `-E` of a CUDA source: writes the preprocessed text of both sides to one file, device code first.
//!
//! clang refuses `-o` for two sides. ccache and sccache need it, since that text is their key.

use std::path::PathBuf;

use super::{Planner, Step};
use crate::args::{Args, Input, InputKind, Item, Role};
use crate::clang_options as clang;

/// True if this command line preprocesses one CUDA source for both sides.
pub fn preprocesses(args: &Args) -> bool {
    let only = |word: &std::ffi::OsString| clang::leaves_no_object(&word.to_string_lossy());
    let options = args.items.iter().filter_map(|item| match item {
        Item::Option { words, .. } => words.first(),
        Item::Input(_) => None,
    });
    args.asked.builds()
        && args.no_object.as_deref() == Some("-E")
        && options.filter(|word| only(word)).count() == 1
        && args.inputs().count() == 1
        && args.inputs().all(|input| input.kind() == InputKind::Cuda && input.path != "-")
}

impl Planner<'_> {
    /// Returns the steps that write an input's text for both sides, the device's first.
    pub(super) fn preprocess(&self, input: &Input) -> Vec<Step> {
        let parts = ["device", "host"].map(|side| self.work.join(format!("{side}.i")));
        let mut steps = self.header_steps();
        let device = (&[Role::Any][..], "--cuda-device-only", Some("-O2"));
        let host = (&[Role::Any, Role::Dependency][..], "--cuda-host-only", None);
        for ((roles, side, level), output) in [device, host].into_iter().zip(&parts) {
            let mut command = self.cuda_command();
            command.args.extend(self.options(roles));
            command.arg(side);
            self.cuda_options(&mut command, self.arch());
            command.args(level);
            command.arg("-o");
            command.arg(output);
            command.source(input);
            steps.push(Step::Clang(command));
        }
        let output = self.args.output.as_ref().filter(|output| *output != "-").map(PathBuf::from);
        steps.push(Step::Joined { parts: parts.into(), output });
        steps
    }
}
