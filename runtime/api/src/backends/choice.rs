//! The choice of the backend.
//!
//! `device=auto` takes the GPU if there is one and each module of the program has code for it. The
//! choice is made once, when the backend is first needed. If a program with code for a GPU does not
//! run there, a line says why.

use gpurace_options::Device;

use crate::backend::Backend;
use crate::backend::module::Payload;
use crate::backends::{executor::OnHost, gpu};
use crate::host::message;
use crate::session::{Session, finish};

/// Prepares the choice. It is made when the backend is first needed.
pub fn prepare(session: &'static Session) {
    session.program.backend.set_choice(Box::new(move || choose(session)));
}

/// The backend for the program as it is registered now.
fn choose(session: &'static Session) -> &'static dyn Backend {
    let payloads = session.program.modules.payloads();
    let host = || -> &'static dyn Backend { Box::leak(Box::new(OnHost::new(session))) };
    match session.options().device {
        Device::Cpu => host(),
        // Nothing is printed if no code for a GPU was requested, or if neither code nor driver
        // exists.
        Device::Auto if payloads.iter().all(|payload| payload.gpu.is_none()) => host(),
        Device::Auto if !payloads.iter().any(is_for_gpu) && gpu::has_driver().is_err() => host(),
        Device::Auto => suits(&payloads).and_then(|()| gpu::open(session, &payloads)).unwrap_or_else(|why| {
            match payloads.iter().all(|payload| payload.image.is_some()) {
                true => message::note(&format!("{why}; kernels run on the CPU executor")),
                false => message::error(&why),
            }
            host()
        }),
        Device::Cuda => {
            has_code(&payloads).and_then(|()| gpu::open(session, &payloads)).unwrap_or_else(|why| {
                message::error(&format!("`device=cuda`: {why}"));
                message::hint("leave `device` out, or set `device=cpu`");
                finish::exit_now(finish::FAILED)
            })
        }
    }
}

fn is_for_gpu(payload: &Payload) -> bool {
    matches!(payload.gpu, Some(Ok(_)))
}

/// Succeeds if the whole program can run on a GPU. The error is the reason.
fn suits(payloads: &[Payload]) -> Result<(), String> {
    gpu::has_driver()?;
    has_code(payloads)
}

/// Succeeds if each module has code for a GPU. The error is the reason.
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
