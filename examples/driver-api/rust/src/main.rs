//! Loads a kernel that gclang has compiled and launches it, with the driver API's binding `cust`.

use std::error::Error;

use cust::launch;
use cust::memory::CopyDestination as _;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

const N: usize = 256;
const BLOCK: u32 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("wanted the file with the kernel")?;
    let _context = cust::quick_init()?;
    let module = Module::from_fatbin(std::fs::read(file)?, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let smooth = module.get_function("smooth")?;

    let values: Vec<f32> = (0..N).map(|i| (i % 3) as f32).collect();
    let input = DeviceBuffer::from_slice(&values)?;
    let output = DeviceBuffer::from_slice(&[0.0f32; N])?;
    // SAFETY: the kernel takes two arrays of N floats, and their length.
    unsafe {
        launch!(smooth<<<N as u32 / BLOCK, BLOCK, 0, stream>>>(
            input.as_device_ptr(),
            output.as_device_ptr(),
            N as i32
        ))?;
    }
    stream.synchronize()?;

    let mut result = [0.0f32; N];
    output.copy_to(&mut result)?;
    println!("{}", if result[1..63].iter().all(|&mean| mean == 1.0) { "right" } else { "wrong" });
    Ok(())
}
