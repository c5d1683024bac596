//! A job array of Slurm: each task makes the runs of one shard.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use super::SweepArgs;
use crate::diagnostic::Error;
use crate::tool::Done;

/// Writes the script of a job array into the folder of results, and submits it.
///
/// # Errors
/// The script cannot be written, or `sbatch` fails.
pub fn submit(args: &SweepArgs, results: &Path, shards: NonZeroUsize) -> Result<Done, Error> {
    let folder = full(results)?;
    let script = folder.join("slurm.sh");
    let tool = std::env::current_exe().map_err(|e| Error::new(format!("cannot find gpurace itself: {e}")))?;
    let text = script_of(&tool, &full(&args.file)?, &folder, args, shards)?;
    fs::write(&script, text).map_err(Error::cannot("write", &script))?;
    let output = Command::new("sbatch")
        .arg("--parsable")
        .args(&args.sbatch)
        .arg(&script)
        .output()
        .map_err(|e| Error::new(format!("cannot run `sbatch`: {e}")).hint("is Slurm installed here?"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::new(format!("`sbatch` failed ({}): {said}", output.status)));
    }
    let job = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let again = format!("gpurace sweep {} --merge", args.file.display());
    Ok(Done::success(format!("submitted job {job} with {shards} shards; `{again}` joins what there is\n")))
}

fn full(path: &Path) -> Result<PathBuf, Error> {
    absolute(path).map_err(Error::cannot("find", path))
}

/// Returns the script. Slurm hands the environment with `GPURACE_OPTIONS` to the tasks.
fn script_of(
    tool: &Path,
    file: &Path,
    results: &Path,
    args: &SweepArgs,
    shards: NonZeroUsize,
) -> Result<String, Error> {
    let quoted = |path: &Path| {
        shlex::try_quote(&path.to_string_lossy())
            .map(|word| word.into_owned())
            .map_err(|e| Error::new(format!("cannot quote `{}` for a shell: {e}", path.display())))
    };
    let (tool, file, shown) = (quoted(tool)?, quoted(file)?, quoted(results)?);
    let again = if args.retry { " --retry" } else { "" };
    let last = shards.get() - 1;
    Ok(format!(
        "#!/bin/sh\n\
         #SBATCH --job-name=gpurace\n\
         #SBATCH --array=0-{last}\n\
         #SBATCH --output=/dev/null\n\
         exec >{shown}/shard-\"$SLURM_ARRAY_TASK_ID\".log 2>&1\n\
         exec {tool} sweep {file} --results {shown} --jobs {jobs} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\"{again}\n",
        jobs = args.jobs
    ))
}
