//! Kernels as CUDA C++, and a `main` that runs them.

use std::fmt::Write as _;

use crate::program::{Array, Collective, Element, Expr, Function, Kernel, Kind, Place, Space, Special, Stmt};
use crate::scalar::{Op, Scalar, Test};

/// What each source begins with.
const HEAD: &str = r#"#include <cstdio>
#include <cstdlib>
#include <cstring>
template <class T> __device__ T lower(T a, T b) { return a < b ? a : b; }
template <class T> __device__ T higher(T a, T b) { return a < b ? b : a; }
template <class T> void fill(char* to, size_t stride, size_t n, unsigned long long seed) {
    for (size_t i = 0; i < n; i++) {
        unsigned long long z = (seed + i) * 0x9e3779b97f4a7c15;
        z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9;
        z ^= z >> 32;
        T value = (T)0.25 != 0 ? (T)(((int)(z >> 40 & 0xfff) - 2048) * (T)0.25) : (T)z;
        memcpy(to + i * stride, &value, sizeof value);
    }
}
void emit(int kernel, int array, const char* bytes, size_t n) {
    printf("R %d %d ", kernel, array);
    for (size_t i = 0; i < n; i++) printf("%02x", (unsigned char)bytes[i]);
    printf("\n");
}
"#;

struct Writer<'a> {
    kernel: &'a Kernel,
    name: usize,
    lines: Vec<String>,
    sites: Vec<usize>,
    depth: usize,
}

fn constant(s: Scalar, bits: u64) -> String {
    match s {
        Scalar::U32 => format!("{bits}u"),
        Scalar::U64 => format!("{bits}ull"),
        Scalar::I32 if s.signed(bits) >= 0 => format!("{bits}"),
        Scalar::I64 if s.signed(bits) >= 0 => format!("{bits}ll"),
        Scalar::F32 => format!("{:?}f", f32::from_bits(bits as u32)),
        Scalar::F64 => format!("{:?}", f64::from_bits(bits)),
        _ if s.is_signed() => format!("({})({}u)", s.name(), s.wrapping().keep(s.signed(bits) as u64)),
        _ => format!("({})({bits}u)", s.name()),
    }
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.lines.push(format!("{:width$}{text}", "", width = 4 * self.depth));
    }

    fn element(&self, array: &Array, number: usize) -> String {
        match &array.element {
            Element::Scalar(s) => s.name().to_owned(),
            Element::Vector(s, n) => format!("{}{n}", s.vector()),
            Element::Struct(_) => format!("S{}_{number}", self.name),
        }
    }

    /// The name of an array that is a variable.
    fn variable(&self, number: usize) -> String {
        format!("g{}_{number}", self.name)
    }

    fn part(&self, place: &Place) -> String {
        match &self.kernel.arrays[place.array].element {
            Element::Scalar(_) => String::new(),
            Element::Vector(..) => format!(".{}", ["x", "y", "z", "w"][place.part]),
            Element::Struct(_) => format!(".f{}", place.part),
        }
    }

    fn whole(&self, place: &Place) -> String {
        let array = &self.kernel.arrays[place.array];
        let index: Vec<String> = place.index.iter().map(|e| self.expr(e, None)).collect();
        if matches!(array.space, Space::Shared | Space::Local) {
            return format!("a{}[{}]", place.array, index.join("]["));
        }
        let mut flat = index[0].clone();
        for (i, extent) in index.iter().zip(&array.extents).skip(1) {
            flat = format!("({flat}) * {extent} + {i}");
        }
        format!("a{}[{flat}]", place.array)
    }

    fn place(&self, place: &Place) -> String {
        self.whole(place) + &self.part(place)
    }

    fn binary(&self, op: Op, s: Scalar, a: &str, b: &str) -> String {
        let sign = match op {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::And => "&",
            Op::Or => "|",
            Op::Xor => "^",
            Op::Shl => "<<",
            Op::Shr => ">>",
            Op::Div => "/",
            Op::Rem => "%",
            Op::Min => return format!("lower<{}>({a}, {b})", s.name()),
            Op::Max => return format!("higher<{}>({a}, {b})", s.name()),
        };
        if matches!(s, Scalar::U32 | Scalar::U64) || s.is_float() {
            return format!("({a} {sign} {b})");
        }
        if matches!(op, Op::Shr | Op::Div | Op::Rem | Op::And | Op::Or | Op::Xor) {
            return format!("({})({a} {sign} {b})", s.name());
        }
        // Signed overflow is undefined, and small types become `int`.
        let wide = s.wrapping().name();
        format!("({})(({wide}){a} {sign} ({wide}){b})", s.name())
    }

    fn expr(&self, e: &Expr, within: Option<&Function>) -> String {
        let text = |e: &Expr| self.expr(e, within);
        match e {
            Expr::Const(s, bits) => constant(*s, *bits),
            Expr::Local(v) => format!("v{v}"),
            Expr::Param(p) => format!("p{p}"),
            Expr::Special(which, dimension) => {
                let name = match which {
                    Special::Thread => "threadIdx",
                    Special::Block => "blockIdx",
                    Special::BlockDim => "blockDim",
                    Special::GridDim => "gridDim",
                };
                format!("{name}.{}", ["x", "y", "z"][*dimension])
            }
            Expr::Load(place) => self.place(place),
            Expr::Binary(op, a, b) => self.binary(*op, self.kernel.type_of(a, within), &text(a), &text(b)),
            Expr::Compare(test, a, b) => {
                let sign = match test {
                    Test::Less => "<",
                    Test::Equal => "==",
                    Test::Unequal => "!=",
                    Test::AtLeast => ">=",
                };
                format!("({} {sign} {})", text(a), text(b))
            }
            Expr::Select(c, a, b) => format!("({} ? {} : {})", text(c), text(a), text(b)),
            Expr::Cast(s, e) => format!("({}){}", s.name(), self.tight(e, within)),
            Expr::Bits(e) if self.kernel.type_of(e, within) == Scalar::F64 => {
                format!("(unsigned long long)__double_as_longlong({})", text(e))
            }
            Expr::Bits(e) => format!("__float_as_uint({})", text(e)),
            Expr::Call(f, arguments) => {
                let function = &self.kernel.functions[*f];
                let mut all: Vec<String> = function.array.iter().map(|&a| self.pointer(a)).collect();
                all.extend(arguments.iter().map(text));
                let exact =
                    if function.style == 1 { format!("<{}>", function.result.name()) } else { String::new() };
                format!("f{}_{f}{exact}({})", self.name, all.join(", "))
            }
            Expr::Argument(i) => format!("x{i}"),
            Expr::Own(index) => {
                let array = within.and_then(|f| f.array).expect("of an array");
                let place = Place { array, index: Vec::new(), part: 0 };
                format!("a[{}]{}", text(index), self.part(&place))
            }
        }
    }

    /// An expression that a unary operator may stand before.
    fn tight(&self, e: &Expr, within: Option<&Function>) -> String {
        let text = self.expr(e, within);
        if text.starts_with('(') || text.chars().all(|c| c.is_alphanumeric() || c == '.') {
            return format!("({text})");
        }
        format!("({text})")
    }

    /// An array as a pointer to its first element.
    fn pointer(&self, number: usize) -> String {
        let array = &self.kernel.arrays[number];
        let levels = if array.space == Space::Shared { array.extents.len() - 1 } else { 0 };
        format!(
            "{}a{number}{}",
            if levels > 0 { "&" } else { "" },
            "[0]".repeat(levels + usize::from(levels > 0))
        )
    }

    fn body(&mut self, body: &[Stmt]) {
        for s in body {
            self.sites[s.site] = self.lines.len();
            self.statement(&s.kind);
        }
    }

    fn statement(&mut self, kind: &Kind) {
        let text = match kind {
            Kind::If(c, then, other) => {
                self.line(&format!("if ({}) {{", self.expr(c, None)));
                self.nested(then);
                if !other.is_empty() {
                    self.line("} else {");
                    self.nested(other);
                }
                "}".to_owned()
            }
            Kind::For(v, first, test, next, body) => {
                let (first, test, next) =
                    (self.expr(first, None), self.expr(test, None), self.expr(next, None));
                self.line(&format!("for (v{v} = {first}; {test}; v{v} = {next}) {{"));
                self.nested(body);
                "}".to_owned()
            }
            other => self.simple(other),
        };
        self.line(&text);
    }

    fn nested(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.body(body);
        self.depth -= 1;
    }

    fn simple(&self, kind: &Kind) -> String {
        let text = |e: &Expr| self.expr(e, None);
        match kind {
            Kind::Set(v, e) => format!("v{v} = {};", text(e)),
            Kind::Store(place, e) => format!("{} = {};", self.place(place), text(e)),
            Kind::StoreAll(place, parts) => {
                let array = &self.kernel.arrays[place.array];
                let name = self.element(array, place.array);
                let parts: Vec<String> = parts.iter().map(text).collect();
                let value = match array.element {
                    Element::Struct(_) => format!("{name}{{{}}}", parts.join(", ")),
                    Element::Vector(..) => format!("make_{name}({})", parts.join(", ")),
                    Element::Scalar(_) => parts[0].clone(),
                };
                format!("{} = {value};", self.whole(place))
            }
            Kind::LoadAll(variables, place) => {
                let array = &self.kernel.arrays[place.array];
                let name = self.element(array, place.array);
                let mut line = format!("{{ {name} e = {};", self.whole(place));
                for (part, v) in variables.iter().enumerate() {
                    let place = Place { part, ..place.clone() };
                    _ = write!(line, " v{v} = e{};", self.part(&place));
                }
                line + " }"
            }
            Kind::Update(op, place, e) => {
                let to = self.place(place);
                let s = self.kernel.arrays[place.array].element.part(place.part).0;
                let sign = match op {
                    Op::Add => "+=",
                    Op::Sub => "-=",
                    Op::Xor => "^=",
                    Op::Or => "|=",
                    _ => "",
                };
                if sign.is_empty() || (s.is_signed() && matches!(op, Op::Add | Op::Sub)) {
                    format!("{to} = {};", self.binary(*op, s, &to, &text(e)))
                } else {
                    format!("{to} {sign} {};", text(e))
                }
            }
            Kind::Atomic(op, place, e) => {
                let name = match op {
                    Op::Add => "Add",
                    Op::Sub => "Sub",
                    Op::And => "And",
                    Op::Or => "Or",
                    Op::Xor => "Xor",
                    Op::Min => "Min",
                    Op::Max => "Max",
                    _ => unreachable!("atomic {op:?}"),
                };
                format!("atomic{name}(&{}, {});", self.place(place), text(e))
            }
            Kind::Barrier => "__syncthreads();".to_owned(),
            Kind::BarrierCount(v, e) => format!("v{v} = __syncthreads_count({});", text(e)),
            Kind::SyncWarp(u32::MAX) => "__syncwarp();".to_owned(),
            Kind::SyncWarp(mask) => format!("__syncwarp({mask:#x}u);"),
            Kind::Warp(v, collective, mask, e) => {
                let (e, mask) = (text(e), format!("{mask:#x}u"));
                match collective {
                    Collective::Xor(n) => format!("v{v} = __shfl_xor_sync({mask}, {e}, {n});"),
                    Collective::Down(n) => format!("v{v} = __shfl_down_sync({mask}, {e}, {n});"),
                    Collective::Up(n) => format!("v{v} = __shfl_up_sync({mask}, {e}, {n});"),
                    Collective::From(n) => format!("v{v} = __shfl_sync({mask}, {e}, {n});"),
                    Collective::Ballot => format!("v{v} = __ballot_sync({mask}, {e} & 1);"),
                    Collective::Any => format!("v{v} = __any_sync({mask}, {e} & 1);"),
                    Collective::Add => format!("v{v} = __reduce_add_sync({mask}, {e});"),
                    Collective::Max => format!("v{v} = __reduce_max_sync({mask}, {e});"),
                    Collective::Match => format!("v{v} = __match_any_sync({mask}, {e});"),
                }
            }
            Kind::Return => "return;".to_owned(),
            Kind::Break => "break;".to_owned(),
            Kind::Continue => "continue;".to_owned(),
            Kind::If(..) | Kind::For(..) => unreachable!("written by `statement`"),
        }
    }

    fn function(&mut self, number: usize) {
        let function = &self.kernel.functions[number];
        let mut arguments: Vec<String> = Vec::new();
        if let Some(a) = function.array {
            arguments.push(format!("const {}* a", self.element(&self.kernel.arrays[a], a)));
        }
        arguments.extend(function.arguments.iter().enumerate().map(|(i, s)| format!("{} x{i}", s.name())));
        let (before, result) = match function.style {
            1 => ("template <class T> ", "T"),
            2 => ("__noinline__ ", function.result.name()),
            _ => ("", function.result.name()),
        };
        let body = self.expr(&function.body, Some(function));
        let head =
            format!("{before}__device__ {result} f{}_{number}({}) {{", self.name, arguments.join(", "));
        self.sites[function.site] = self.lines.len() + 1;
        self.line(&head);
        self.line(&format!("    return {body};"));
        self.line("}");
    }

    fn write(&mut self) {
        let kernel = self.kernel;
        let name = self.name;
        for (i, array) in kernel.arrays.iter().enumerate() {
            if let Element::Struct(fields) = &array.element {
                let fields: Vec<String> =
                    fields.iter().enumerate().map(|(f, s)| format!("{} f{f};", s.name())).collect();
                self.line(&format!("struct S{name}_{i} {{ {} }};", fields.join(" ")));
            }
        }
        for (i, array) in kernel.arrays.iter().enumerate().filter(|(_, a)| a.space == Space::Variable) {
            let element = self.element(array, i);
            self.line(&format!("__device__ {element} {}[{}];", self.variable(i), array.len()));
        }
        (0..kernel.functions.len()).for_each(|f| self.function(f));
        let mut parameters = Vec::new();
        let passed = |a: &Array| a.is_global() && a.space != Space::Variable;
        for (i, array) in kernel.arrays.iter().enumerate().filter(|(_, a)| passed(a)) {
            let constant = if array.space == Space::Input { "const " } else { "" };
            parameters.push(format!("{constant}{}* a{i}", self.element(array, i)));
        }
        parameters.extend(kernel.params.iter().enumerate().map(|(i, (s, _))| format!("{} p{i}", s.name())));
        self.line(&format!("__global__ void k_{name}({}) {{", parameters.join(", ")));
        self.depth = 1;
        let mut offset = 0;
        for (i, array) in kernel.arrays.iter().enumerate() {
            let element = self.element(array, i);
            if array.space == Space::Shared {
                let extents: String = array.extents.iter().map(|n| format!("[{n}]")).collect();
                self.line(&format!("__shared__ {element} a{i}{extents};"));
            } else if array.space == Space::Local {
                self.line(&format!("{element} a{i}[{}];", array.len()));
            } else if array.space == Space::Variable {
                self.line(&format!("{element}* a{i} = {};", self.variable(i)));
            } else if array.space == Space::Dynamic {
                if offset == 0 {
                    self.line("extern __shared__ __align__(16) unsigned char dynamic[];");
                }
                self.line(&format!("{element}* a{i} = ({element}*)(dynamic + {offset});"));
                offset += array.bytes().next_multiple_of(16);
            }
        }
        for (i, s) in kernel.locals.iter().enumerate() {
            self.line(&format!("{} v{i} = 0;", s.name()));
        }
        self.body(&kernel.body);
        self.depth = 0;
        self.line("}");
        self.launch(offset);
    }

    fn launch(&mut self, dynamic: usize) {
        let (kernel, name) = (self.kernel, self.name);
        self.line(&format!("static void run_{name}() {{"));
        self.depth = 1;
        let mut arguments = Vec::new();
        let globals = || kernel.arrays.iter().enumerate().filter(|(_, a)| a.is_global());
        for (i, array) in globals() {
            let (bytes, stride) = (array.bytes(), array.element.size());
            let of = match array.space {
                Space::Variable => format!("cudaGetSymbolAddress(&d{i}, {});", self.variable(i)),
                _ => format!("cudaMalloc(&d{i}, {bytes});"),
            };
            self.line(&format!("char* h{i} = (char*)malloc({bytes}); void* d{i}; {of}"));
            for (part, s) in array.element.parts().iter().enumerate() {
                let (offset, seed) = (array.element.part(part).1, part_seed(array.seed, part));
                let (s, n) = (s.name(), array.len());
                self.line(&format!("fill<{s}>(h{i} + {offset}, {stride}, {n}, {seed}ull);"));
            }
            self.line(&format!("cudaMemcpy(d{i}, h{i}, {bytes}, cudaMemcpyHostToDevice);"));
            if array.space != Space::Variable {
                arguments.push(format!("({}*)d{i}", self.element(array, i)));
            }
        }
        arguments.extend(kernel.params.iter().map(|&(s, bits)| constant(s, bits)));
        let dim = |d: [u32; 3]| format!("dim3({}, {}, {})", d[0], d[1], d[2]);
        let (grid, block) = (dim(kernel.grid), dim(kernel.block));
        self.line(&format!("for (int i = 0; i < {}; i++)", kernel.launches));
        self.line(&format!("    k_{name}<<<{grid}, {block}, {dynamic}>>>({});", arguments.join(", ")));
        self.line("if (cudaDeviceSynchronize() != cudaSuccess) exit(3);");
        for (i, array) in globals() {
            let bytes = array.bytes();
            self.line(&format!("cudaMemcpy(h{i}, d{i}, {bytes}, cudaMemcpyDeviceToHost);"));
            if array.space != Space::Variable {
                self.line(&format!("cudaFree(d{i});"));
            }
            self.line(&format!("emit({name}, {i}, h{i}, {bytes}); free(h{i});"));
        }
        self.depth = 0;
        self.line("}");
    }
}

/// The seed for one part of an array's elements.
pub fn part_seed(seed: u64, part: usize) -> u64 {
    seed.wrapping_add(1_000_003 * part as u64)
}

/// Returns a program of numbered kernels, and for each site of each kernel its line, from 1. The
/// program's arguments are the numbers of the kernels that it runs; without any it runs all.
pub fn source(kernels: &[&Kernel]) -> (String, Vec<Vec<u32>>) {
    let mut text = HEAD.to_owned();
    let mut next = 1 + text.lines().count();
    let mut places = Vec::new();
    for (name, kernel) in kernels.iter().enumerate() {
        let sites = (*kernel).clone().number();
        let mut w = Writer { kernel, name, lines: Vec::new(), sites: vec![0; sites], depth: 0 };
        w.write();
        places.push(w.sites.iter().map(|&line| (next + line) as u32).collect());
        next += w.lines.len();
        w.lines.iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    text.push_str("static void (*const runs[])() = {");
    (0..kernels.len()).for_each(|k| _ = write!(text, "run_{k}, "));
    text.push_str("};\nint main(int argc, char** argv) {\n");
    _ = writeln!(text, "    for (int k = 0; argc == 1 && k < {}; k++) runs[k]();", kernels.len());
    text.push_str("    for (int i = 1; i < argc; i++) runs[atoi(argv[i])]();\n    return 0;\n}\n");
    (text, places)
}
