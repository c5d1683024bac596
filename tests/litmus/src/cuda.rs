//! A program as a CUDA kernel.

use std::fmt::Write as _;

use crate::program::{Instruction, Meeting, Order, Program, Scope, Strength, Test, Update};

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its lines, with its variables before it.
    pub lines: Vec<String>,
    /// For each instruction of the program, in the order of sites, its line among these.
    pub sites: Vec<usize>,
    /// Number of blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

struct Writer<'a> {
    program: &'a Program,
    name: &'a str,
    lines: Vec<String>,
    sites: Vec<usize>,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.lines.push(format!("{:width$}{text}", "", width = 4 * self.depth));
    }

    /// The location as an expression.
    fn location(&self, at: usize) -> String {
        match self.program.shared[at] {
            true => format!("s_{}[{at}]", self.name),
            false => format!("g_{}[{at}]", self.name),
        }
    }

    fn code(&mut self, code: &[Instruction], site: &mut usize) {
        for i in code {
            // Sites come in the order of the program, but threads are written in parts.
            self.sites[*site] = self.lines.len();
            *site += 1;
            match i {
                Instruction::If { register, test, then } => {
                    match test {
                        Test::Is(value) => self.line(&format!("if (r{register} == {value}) {{")),
                        Test::IsNot(value) => self.line(&format!("if (r{register} != {value}) {{")),
                    }
                    self.depth += 1;
                    self.code(then, site);
                    self.depth -= 1;
                    self.line("}");
                }
                other => {
                    let text = self.instruction(other);
                    self.line(&text);
                }
            }
        }
    }

    fn instruction(&self, i: &Instruction) -> String {
        match *i {
            Instruction::Load { register: r, at, strength } => {
                let x = self.location(at);
                match strength {
                    Strength::Plain => format!("r{r} = {x};"),
                    Strength::Volatile => format!("r{r} = *(volatile unsigned*)&{x};"),
                    Strength::Atomic(scope, order) => {
                        format!(
                            "asm volatile(\"ld.{order}.{scope}.u32 %0, [%1];\" : \"=r\"(r{r}) : \"l\"(&{x}) : \"memory\");"
                        )
                    }
                }
            }
            Instruction::Store { at, value, strength } => {
                let x = self.location(at);
                match strength {
                    Strength::Plain => format!("{x} = {value};"),
                    Strength::Volatile => format!("*(volatile unsigned*)&{x} = {value};"),
                    Strength::Atomic(scope, order) => {
                        format!(
                            "asm volatile(\"st.{order}.{scope}.u32 [%0], %1;\" ::\"l\"(&{x}), \"r\"({value}) : \"memory\");"
                        )
                    }
                }
            }
            Instruction::Modify { register: None, at, update, scope, order } => {
                let Update::Add(value) = update else { unreachable!("reductions add") };
                let x = self.location(at);
                format!(
                    "asm volatile(\"red.{order}.{scope}.add.u32 [%0], %1;\" ::\"l\"(&{x}), \"r\"({value}) : \"memory\");"
                )
            }
            Instruction::Modify { register: Some(r), at, update, scope, order } => {
                let x = self.location(at);
                if order == Order::Relaxed {
                    let suffix = match scope {
                        Scope::Cta => "_block",
                        Scope::Gpu => "",
                        Scope::Sys => "_system",
                    };
                    return match update {
                        Update::Add(value) => format!("r{r} = atomicAdd{suffix}(&{x}, {value});"),
                        Update::Exchange(value) => format!("r{r} = atomicExch{suffix}(&{x}, {value});"),
                        Update::Swap(old, new) => format!("r{r} = atomicCAS{suffix}(&{x}, {old}, {new});"),
                    };
                }
                let (op, kind, values) = match update {
                    Update::Add(value) => ("add", "u32", format!("\"r\"({value})")),
                    Update::Exchange(value) => ("exch", "b32", format!("\"r\"({value})")),
                    Update::Swap(old, new) => ("cas", "b32", format!("\"r\"({old}), \"r\"({new})")),
                };
                let more = if op == "cas" { ", %3" } else { "" };
                format!(
                    "asm volatile(\"atom.{order}.{scope}.{op}.{kind} %0, [%1], %2{more};\" : \"=r\"(r{r}) : \"l\"(&{x}), {values} : \"memory\");"
                )
            }
            Instruction::Fence { scope, full: true } => match scope {
                Scope::Cta => "__threadfence_block();".into(),
                Scope::Gpu => "__threadfence();".into(),
                Scope::Sys => "__threadfence_system();".into(),
            },
            Instruction::Fence { scope, full: false } => {
                format!("asm volatile(\"fence.acq_rel.{scope};\" ::: \"memory\");")
            }
            Instruction::Meet(m) => match self.program.meetings[m] {
                Meeting::Lanes { mask, .. } => format!("__syncwarp({mask:#x});"),
                Meeting::Block(_) => unreachable!("barriers stand between the parts of threads"),
            },
            Instruction::If { .. } => unreachable!("written by `code`"),
        }
    }

    /// Writes the threads of a block: in parts, between which all threads of the block meet.
    fn block(&mut self, block: u32, first_sites: &[usize]) {
        let is_barrier = |i: &Instruction| matches!(i, Instruction::Meet(m) if matches!(self.program.meetings[*m], Meeting::Block(_)));
        let own: Vec<(u32, Vec<&[Instruction]>, usize)> = self
            .program
            .threads
            .iter()
            .zip(first_sites)
            .filter(|(t, _)| t.block == block)
            .map(|(t, &site)| (t.number, t.code.split(is_barrier).collect(), site))
            .collect();
        let parts = own.first().map_or(0, |t| t.1.len());
        let mut sites: Vec<usize> = own.iter().map(|t| t.2).collect();
        for part in 0..parts {
            if part > 0 {
                self.line("__syncthreads();");
                // The barrier's own site.
                for site in &mut sites {
                    self.sites[*site] = self.lines.len() - 1;
                    *site += 1;
                }
            }
            for ((number, codes, _), site) in own.iter().zip(&mut sites) {
                if !codes[part].is_empty() {
                    self.line(&format!("if (threadIdx.x == {number}) {{"));
                    self.depth += 1;
                    self.code(codes[part], site);
                    self.depth -= 1;
                    self.line("}");
                }
            }
        }
    }
}

fn count(code: &[Instruction]) -> usize {
    let mut n = 0;
    crate::program::for_each(code, &mut |_| n += 1);
    n
}

/// Returns the kernel `k_<name>` of a program. Each thread also writes what it has loaded, to memory of
/// its own, so that no load is left out.
pub fn kernel(program: &Program, name: &str) -> Kernel {
    let mut registers = 0;
    for thread in &program.threads {
        crate::program::for_each(&thread.code, &mut |i| {
            if let Instruction::Load { register, .. } | Instruction::Modify { register: Some(register), .. } =
                i
            {
                registers = registers.max(register + 1);
            }
        });
    }
    let mut first_sites = vec![0];
    for thread in &program.threads {
        first_sites.push(first_sites[first_sites.len() - 1] + count(&thread.code));
    }
    let locations = program.shared.len();
    let wide = program.threads.iter().any(|t| t.number >= 32);
    let (blocks, threads) =
        (program.threads.iter().map(|t| t.block).max().unwrap_or(0) + 1, if wide { 64 } else { 32 });
    let total = first_sites[first_sites.len() - 1];
    let mut w = Writer { program, name, lines: Vec::new(), sites: vec![0; total], depth: 0 };
    w.line(&format!(
        "__device__ unsigned g_{name}[{locations}], out_{name}[{blocks} * {threads}][{}];",
        registers.max(1)
    ));
    w.line(&format!("__global__ void k_{name}() {{"));
    w.depth = 1;
    if program.shared.contains(&true) {
        w.line(&format!("__shared__ unsigned s_{name}[{locations}];"));
        w.line(&format!("if (threadIdx.x < {locations}) s_{name}[threadIdx.x] = 0;"));
        w.line("__syncthreads();");
    }
    let mut declared = String::from("unsigned unused = 0");
    (0..registers).for_each(|r| _ = write!(declared, ", r{r} = 0"));
    w.line(&format!("{declared};"));
    for block in 0..blocks {
        w.line(&format!("if (blockIdx.x == {block}) {{"));
        w.depth += 1;
        w.block(block, &first_sites);
        w.depth -= 1;
        w.line("}");
    }
    w.line(&format!("unsigned* out = out_{name}[blockIdx.x * {threads} + threadIdx.x];"));
    (0..registers).for_each(|r| w.line(&format!("out[{r}] = r{r};")));
    w.line("(void)unused;");
    w.depth = 0;
    w.line("}");
    Kernel { lines: w.lines, sites: w.sites, blocks, threads }
}

/// Returns a whole program with these kernels, and for each site of each kernel its line, from 1. The
/// program's arguments are the numbers of the kernels that it launches.
pub fn source(kernels: &[Kernel]) -> (String, Vec<Vec<u32>>) {
    let mut text = String::from("#include <cstdlib>\n");
    let mut next = 2;
    let mut places = Vec::new();
    for kernel in kernels {
        places.push(kernel.sites.iter().map(|&line| next + line as u32).collect());
        next += kernel.lines.len() as u32;
        kernel.lines.iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    text.push_str("int main(int argc, char** argv) {\n    for (int i = 1; i < argc; i++) {\n");
    text.push_str("        switch (atoi(argv[i])) {\n");
    for (k, kernel) in kernels.iter().enumerate() {
        let Kernel { blocks, threads, .. } = kernel;
        _ = writeln!(text, "            case {k}: k_{k}<<<{blocks}, {threads}>>>(); break;");
    }
    text.push_str("        }\n    }\n    return cudaDeviceSynchronize();\n}\n");
    (text, places)
}
