//! `-E` of a CUDA source: what both sides read, one behind the other, in one
//! file. clang refuses `-o` there; ccache and sccache, which take the text for
//! their key, ask for it so.

use std::path::{Path, PathBuf};

use super::{Planner, Step, ToolCommand};
use crate::args::{Args, Input, InputKind, Item, Role};
use crate::clang_options as clang;

/// Whether this command line preprocesses one CUDA source for both sides.
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
    pub(super) fn preprocess(&self, input: &Input) -> Vec<Step> {
        let parts = ["device", "host"].map(|side| self.work.join(format!("{side}.i")));
        let mut steps = self.header_steps();
        steps.push(Step::Clang(self.preprocess_device(input, &parts[0])));
        steps.push(Step::Clang(self.preprocess_host(input, &parts[1])));
        let output = self.args.output.as_ref().filter(|output| *output != "-").map(PathBuf::from);
        steps.push(Step::Joined { parts: parts.into(), output });
        steps
    }

    fn preprocess_device(&self, input: &Input, output: &Path) -> ToolCommand {
        let mut command = self.cuda_command();
        command.args.extend(self.options(&[Role::Any]));
        command.arg("--cuda-device-only");
        self.cuda_options(&mut command, self.arch());
        command.args(["-Wno-unknown-cuda-version", "-O2", "-o"]);
        command.arg(output);
        command.source(input);
        command
    }

    fn preprocess_host(&self, input: &Input, output: &Path) -> ToolCommand {
        let mut command = self.cuda_command();
        command.args.extend(self.options(&[Role::Any, Role::Dependency]));
        command.arg("--cuda-host-only");
        self.cuda_options(&mut command, self.arch());
        command.args(["-Wno-unknown-cuda-version", "-o"]);
        command.arg(output);
        command.source(input);
        command
    }
}
