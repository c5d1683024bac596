//! Textures, surfaces, and pointers in structs: which memory they lead to.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// A texture and a surface of different arrays are apart, and apart from other memory. Stores through
/// a surface are checked.
#[test]
fn textures_are_apart_from_what_is_written() {
    let source = r#"
__global__ void fetch(cudaTextureObject_t from, float* to, int w) {
    int x = threadIdx.x, y = blockIdx.x;
    to[y * w + x] = tex2D<float>(from, (x + 1) % w + 0.5f, y + 0.5f);
}
__global__ void store(cudaTextureObject_t from, cudaSurfaceObject_t to, float* sums) {
    int x = threadIdx.x;
    sums[x] = tex2D<float>(from, x + 1.5f, 0.5f) + 1;
    surf2Dwrite(sums[x], to, x * 4, 0);
}
int main(int argc, char** argv) {
    float* memory;
    cudaMalloc(&memory, 8192);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t arrays[2];
    cudaTextureObject_t textures[3];
    cudaSurfaceObject_t surface;
    cudaTextureDesc desc = {};
    cudaResourceDesc of = {};
    for (int i = 0; i < 2; i++) {
        cudaMallocArray(&arrays[i], &format, 32, 4, cudaArraySurfaceLoadStore);
        of.resType = cudaResourceTypeArray;
        of.res.array.array = arrays[i];
        cudaCreateTextureObject(&textures[i], &of, &desc, nullptr);
    }
    cudaCreateSurfaceObject(&surface, &of);
    of = {};
    of.resType = cudaResourceTypePitch2D;
    of.res.pitch2D.devPtr = memory;
    of.res.pitch2D.desc = format;
    of.res.pitch2D.width = 32;
    of.res.pitch2D.height = 4;
    of.res.pitch2D.pitchInBytes = 32 * 4;
    cudaCreateTextureObject(&textures[2], &of, &desc, nullptr);
    switch (argv[1][0]) {
    case 'a': fetch<<<4, 32>>>(textures[0], memory, 32); break;
    case 's': fetch<<<4, 32>>>(textures[2], memory, 32); break;
    case 'o': store<<<1, 32>>>(textures[0], surface, memory); break;
    case 'b': store<<<1, 32>>>(textures[1], surface, memory); break;
    }
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_textures").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    // The number of checks, and the lines of races. A row of 32 threads fetches and stores 32 texels.
    let wanted: [(&str, u64, &[_]); 4] =
        [("a", 0, &[]), ("s", 4 * 64, &[(4, 4)]), ("o", 32, &[]), ("b", 64, &[(8, 9)])];
    for (launch, checks, lines) in wanted {
        let report =
            run_checked(&folder.join("k"), &[launch], "cache_dir=", &folder).unwrap().report.unwrap();
        let mut found = Vec::new();
        for race in &report.races {
            let mut lines: Vec<_> = race.accesses.iter().map(|access| access.line.unwrap()).collect();
            lines.sort();
            found.push((lines[0], lines[1]));
        }
        assert_eq!((report.stats.checks_executed, &found[..]), (checks, lines), "{launch}");
    }
}

/// Pointers and numbers of a struct that is passed by value, at places that threads compute. The structs
/// have elements that no thread uses, and that lead nowhere.
#[test]
fn pointers_in_structs_are_told_apart_at_the_launch() {
    let source = r#"
#include <cstring>
struct View { float* data; int n; };
struct Views { View v[4]; };
struct Parts { float* from[24]; float* to[24]; int sizes[24]; unsigned char of_block[64]; int first[64]; };
__global__ void scale(Views m) {
    const View& v = m.v[blockIdx.y];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < v.n) v.data[i] *= 2;
}
__global__ void one_by_one(Views m, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < count; k++) if (i < m.v[k].n) m.v[k].data[i] *= 2;
}
__global__ void parts(Parts p, int most) {
    int at = p.of_block[blockIdx.x], first = p.first[blockIdx.x] * most;
    for (int i = threadIdx.x; i < most && first + i < p.sizes[at]; i += blockDim.x)
        p.to[at][first + i] = p.from[at][first + i];
}
int main(int argc, char** argv) {
    float* f;
    cudaMalloc(&f, 1 << 20);
    cudaMemset(f, 0, 1 << 20);
    bool apart = argv[1][1] == 'a';
    Views m;
    memset(&m, 0x5a, sizeof m);
    for (int i = 0; i < 3; i++) m.v[i] = {f + i * 500, 500};
    Parts p;
    memset(&p, 0x5a, sizeof p);
    int blocks = 0;
    for (int t = 0; t < 4; t++) {
        p.sizes[t] = 300 + 100 * t;
        p.from[t] = f + 1000 * t;
        p.to[t] = f + 100000 + 1000 * t;
        for (int c = 0; c * 256 < p.sizes[t]; c++) p.of_block[blocks] = t, p.first[blocks++] = c;
    }
    switch (argv[1][0]) {
    // The last view begins with the last element of the one before.
    case 's': if (!apart) m.v[2].data--; scale<<<dim3(4, 3), 128>>>(m); break;
    case 'o': if (!apart) m.v[2].data--; one_by_one<<<4, 128>>>(m, 3); break;
    // Two blocks copy one part; two arrays overlap.
    case 'p': if (!apart) p.first[3] = p.first[2]; parts<<<blocks, 128>>>(p, 256); break;
    case 'q': if (!apart) p.to[3] = p.to[2] + 499; parts<<<blocks, 128>>>(p, 256); break;
    }
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_structs").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    for level in ["-O1", "-O2"] {
        compile(&["-fsanitize=gpurace", level, "k.cu", "-o", "k"], &folder).unwrap();
        let run = |launch: &str| {
            let report =
                run_checked(&folder.join("k"), &[launch], "cache_dir=", &folder).unwrap().report.unwrap();
            (report.races.len(), report.stats.checks_executed)
        };
        for launch in ["s", "o", "p", "q"] {
            assert_eq!(run(&format!("{launch}a")), (0, 0), "{launch} {level}");
            let (races, checks) = run(&format!("{launch}b"));
            assert!(races > 0 && checks > 0, "{launch} {level}");
        }
    }
}
