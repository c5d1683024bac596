//! Which backend a program gets.
//!
//! `device=auto` takes the GPU where there is one and the whole program can run on it:
//! each module has code for it. That is decided once, when the backend is first needed, and a
//! program with code for a GPU says in a line why it does not run there.

use gpurace_options::Device;

use super::{Backend, executor::OnHost, gpu};
use crate::finish;
use crate::message;
use crate::modules::{self, Payload};
use crate::session;

static HOST: OnHost = OnHost;

/// The backend for the program as it is registered now.
pub fn choose() -> &'static dyn Backend {
    let payloads = modules::payloads();
    match session::get().options.device {
        Device::Cpu => &HOST,
        // No code for a GPU was asked for, or there is none and no driver that would take it: there is nothing to say.
        Device::Auto if payloads.iter().all(|payload| payload.gpu.is_none()) => &HOST,
        Device::Auto if !payloads.iter().any(is_for_gpu) && gpu::has_driver().is_err() => &HOST,
        Device::Auto => suits(&payloads).and_then(|()| gpu::open(&payloads)).unwrap_or_else(|why| {
            match payloads.iter().all(|payload| payload.image.is_some()) {
                true => message::note(&format!("{why}; kernels run on the CPU executor")),
                false => message::error(&why),
            }
            &HOST
        }),
        Device::Cuda => has_code(&payloads).and_then(|()| gpu::open(&payloads)).unwrap_or_else(|why| {
            message::error(&format!("`device=cuda`: {why}"));
            message::hint("leave `device` out, or set `device=cpu`");
            finish::exit_now(finish::FAILED)
        }),
    }
}

fn is_for_gpu(payload: &Payload) -> bool {
    matches!(payload.gpu, Some(Ok(_)))
}

/// Why the program cannot run on a GPU as a whole.
fn suits(payloads: &[Payload]) -> Result<(), String> {
    gpu::has_driver()?;
    has_code(payloads)
}

/// Why there is no code for a GPU of some module.
fn has_code(payloads: &[Payload]) -> Result<(), String> {
    let lacking = payloads.iter().find(|payload| !is_for_gpu(payload));
    match lacking.map(|payload| payload.gpu) {
        None => Ok(()),
        Some(Some(Err(why))) => Err(format!("the program has a file without code for a GPU: {why}")),
        Some(_) => {
            Err("the program has a file without code for a GPU: build it with `-fgpurace-exec=auto`"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(gpu: Option<Result<(), &'static str>>) -> Payload {
        Payload { image: None, gpu: gpu.map(|gpu| gpu.map(|()| &[][..])), meta: b"", proofs: b"" }
    }

    #[test]
    fn every_module_needs_code() {
        assert_eq!(has_code(&[payload(Some(Ok(())))]), Ok(()));
        let why = has_code(&[payload(Some(Ok(()))), payload(Some(Err("it has clusters")))]).unwrap_err();
        assert!(why.ends_with("code for a GPU: it has clusters"), "{why}");
        assert!(has_code(&[payload(Some(Ok(()))), payload(None)]).is_err());
    }
}
