//! Kernels as CUDA C++, whole: some as golden files that readers can look at, all of them through a C++ compiler.
//!
//! `LEASTWISE_BLESS=1 cargo test --features cuda --test cuda_text` writes the golden files anew.

use leastwise::device::Precision;
use leastwise::device::cuda::written;
use leastwise::kernel::Fixed;
use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PRECISIONS: [(&str, Precision); 2] = [("f32", Precision::F32), ("f64", Precision::F64)];

/// The generated kernels that `tests/generated.rs` holds, by name.
fn generated() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(format!("{ROOT}/tests/golden")).expect("golden files");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "wgsl"));
    files.sort();
    files.into_iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into(), std::fs::read_to_string(&path).unwrap())).collect()
}

fn fixed() -> Vec<(String, String)> {
    Fixed::ALL.iter().map(|kernel| (kernel.name().to_string(), kernel.source().texts[0].wgsl.to_string())).collect()
}

fn cuda(name: &str, wgsl: &str, precision: Precision) -> wgsl_cuda::Kernel {
    written(wgsl, precision, 256).unwrap_or_else(|error| panic!("{name} in {precision:?}: {error}"))
}

/// A reduction with workgroup memory and barriers, straight lines, loops over tiles, and functions that are another text in f64.
#[test]
fn texts_are_the_golden_ones() {
    let all: Vec<(String, String)> = fixed().into_iter().chain(generated()).collect();
    for chosen in ["sum", "arap_linearize", "arap_product_by_owners", "polar_linearize"] {
        let (name, wgsl) = all.iter().find(|(name, _)| name == chosen).unwrap_or_else(|| panic!("there is no kernel {chosen}"));
        for (real, precision) in PRECISIONS {
            let text = cuda(name, wgsl, precision).source;
            let golden = format!("{ROOT}/tests/golden_cuda/{name}_{real}.cu");
            if std::env::var_os("LEASTWISE_BLESS").is_some() {
                std::fs::write(&golden, &text).unwrap();
            }
            let kept = std::fs::read_to_string(&golden).unwrap_or_default();
            assert!(kept == text, "{golden} is another text: LEASTWISE_BLESS=1 writes it anew");
        }
    }
}

/// What NVRTC will be given is C++, for every kernel in both precisions: the host's compiler reads it behind the header that
/// plays CUDA for the writer's own tests.
#[test]
fn every_kernel_is_valid_cpp_in_both_precisions() {
    let folder = PathBuf::from(format!("{ROOT}/target/cuda_text"));
    std::fs::create_dir_all(&folder).unwrap();
    let host = format!("{ROOT}/native_cuda/writer/tests/host/cuda.h");
    for (real, precision) in PRECISIONS {
        let mut text = format!("#include \"{host}\"\n{}\n", wgsl_cuda::PREAMBLE);
        for (name, wgsl) in fixed().into_iter().chain(generated()) {
            // C linkage is what gives a kernel its name; here many of that name stand beside each other.
            let source = cuda(&name, &wgsl, precision).source.replace("extern \"C\"", "");
            assert!(precision == Precision::F32 || !source.contains("float"), "{name} computes something in f32");
            text.push_str(&format!("namespace {name} {{\n{source}\n}}\n"));
        }
        let file = folder.join(format!("{real}.cpp"));
        std::fs::write(&file, text).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
        let output = Command::new(&compiler).args(["-std=c++20", "-fsyntax-only"]).arg(&file).output();
        let output = output.unwrap_or_else(|error| panic!("this test needs a C++ compiler ({compiler}; set CXX for another): {error}"));
        assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    }
}
