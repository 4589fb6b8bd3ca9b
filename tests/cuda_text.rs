//! Kernels as CUDA C++, whole: some as golden files that readers can look at, all of them through a C++ compiler.
//!
//! `LEASTWISE_BLESS=1 cargo test --features cuda --test cuda_text` writes the golden files anew.

#[path = "../native_cuda/writer/tests/support/mod.rs"]
#[allow(dead_code)]
mod cuda_on_host;

use crate::support::is_full;
use crate::twins::cases::cases;
use crate::twins::harness::Case;
use crate::twins::seed;
use crate::twins::value::Random;
use leastwise::device::cpu::half;
use leastwise::device::cuda::written;
use leastwise::device::{Access, Limits, PARAM_WORDS, Params, Precision, binding};
use leastwise::kernels::{KernelText, StaticKernel};
use leastwise::program::fused::Fold;
use leastwise::program::words::WordBinary;
use leastwise::tensor::graph::{Data, Graph, Node};
use leastwise::tensor::plan::{Ref, Request, Target, plan};
use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PRECISIONS: [(&str, Precision); 2] = [("f32", Precision::F32), ("f64", Precision::F64)];

/// Operations of integers on two numbers, by name.
const INTEGERS: [(&str, WordBinary); 17] = [
    ("add", WordBinary::Add),
    ("sub", WordBinary::Sub),
    ("mul", WordBinary::Mul),
    ("floorDivide", WordBinary::FloorDivide),
    ("mod", WordBinary::Mod),
    ("pow", WordBinary::Pow),
    ("minimum", WordBinary::Min),
    ("maximum", WordBinary::Max),
    ("less", WordBinary::Lt),
    ("lessEqual", WordBinary::Le),
    ("equal", WordBinary::Eq),
    ("notEqual", WordBinary::Ne),
    ("bitwiseAnd", WordBinary::And),
    ("bitwiseOr", WordBinary::Or),
    ("bitwiseXor", WordBinary::Xor),
    ("shiftLeft", WordBinary::ShiftLeft),
    ("shiftRight", WordBinary::ShiftRight),
];

/// The generated kernels that `tests/generated.rs` holds, by name.
fn generated() -> Vec<(String, KernelText)> {
    let folder = std::fs::read_dir(format!("{ROOT}/tests/golden")).expect("golden files");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "wgsl"));
    files.sort();
    let text = |path: &PathBuf| KernelText::new(&std::fs::read_to_string(path).unwrap(), [Access::Unused; binding::COUNT]);
    files.iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into(), text(path))).collect()
}

fn fixed() -> Vec<(String, KernelText)> {
    StaticKernel::ALL.iter().map(|kernel| (kernel.name().to_string(), kernel.text())).collect()
}

fn cuda(name: &str, wgsl: &KernelText, precision: Precision) -> wgsl_cuda::Kernel {
    written(wgsl, precision, 256).unwrap_or_else(|error| panic!("{name} in {precision:?}: {error}"))
}

/// A reduction with workgroup memory and barriers, straight lines, loops over tiles, and functions that are another text in f64.
#[test]
fn texts_are_the_golden_ones() {
    let all: Vec<(String, KernelText)> = fixed().into_iter().chain(generated()).collect();
    for chosen in ["step_sum", "arap_linearize", "arap_product_by_owners", "polar_linearize"] {
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
        let mut text = format!("#include \"{host}\"\n");
        for (name, wgsl) in fixed().into_iter().chain(generated()) {
            // C linkage is what gives a kernel its name; here many of that name stand beside each other.
            let kernel = cuda(&name, &wgsl, precision);
            assert!(precision == Precision::F32 || !kernel.source.contains("float"), "{name} computes something in f32");
            // With its own part of what stands in front of kernels.
            text.push_str(&format!("namespace {name} {{\n{}\n}}\n", kernel.text().replace("extern \"C\"", "")));
        }
        let file = folder.join(format!("{real}.cpp"));
        std::fs::write(&file, text).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
        let output = Command::new(&compiler).args(["-std=c++20", "-fsyntax-only"]).arg(&file).output();
        let output = output.unwrap_or_else(|error| panic!("this test needs a C++ compiler ({compiler}; set CXX for another): {error}"));
        assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    }
}

/// The words of a tensor that one kernel makes of stored ones, played by the host: leaves in their order.
fn played(name: &str, graph: &Graph, output: Node, leaves: &[Vec<u32>]) -> Vec<u32> {
    let limits = Limits { group_size: 64, ..Limits::WEBGPU };
    let request = Request::new(graph, &[output]);
    let plan = plan(graph, &request, &[output], &[Target { cpu: false, limits, library: None, rows: true }], false).expect("a plan");
    let [step] = &plan.steps[..] else { panic!("{name} is {} kernels", plan.steps.len()) };
    let launch = step.launches[0].kernel.as_ref().expect("a kernel");
    let kernel = written(&launch.source.texts().unwrap()[0], Precision::F32, limits.group_size).unwrap_or_else(|error| panic!("{error}"));
    let groups = launch.count.div_ceil(limits.group_size);
    let params =
        Params { count: launch.count, grid_width: groups * limits.group_size, zero: 0, group_count: groups, words: [0; PARAM_WORDS] };
    let written_to = plan.buffers[0].size() as usize;
    let buffers: Vec<Vec<u32>> = kernel
        .parameters
        .iter()
        .map(|parameter| match *parameter {
            wgsl_cuda::Parameter::Uniform { .. } => bytemuck::cast::<Params, [u32; 16]>(params).to_vec(),
            wgsl_cuda::Parameter::Storage { binding: slot, .. } if slot as usize == binding::INDEX => plan.tables[0].clone(),
            wgsl_cuda::Parameter::Storage { binding: slot, .. } => {
                let bound = step.bindings.iter().find(|(known, _)| *known == slot as usize).expect("what is bound");
                match bound.1 {
                    Ref::Leaf(leaf) => leaves[leaf as usize].clone(),
                    // What nobody writes shows.
                    Ref::Buffer(_) => vec![0xdead_beef; written_to],
                }
            }
        })
        .collect();
    let stored = cuda_on_host::play(name, &kernel, [groups, 1, 1], &buffers);
    let place = kernel.parameters.iter().position(|parameter| match *parameter {
        wgsl_cuda::Parameter::Storage { binding: slot, .. } => step.bindings.contains(&(slot as usize, Ref::Buffer(0))),
        wgsl_cuda::Parameter::Uniform { .. } => false,
    });
    stored[place.expect("a result")].clone()
}

/// Kernels that round to halves and read them, elementwise and in a product: the bits of the CPU.
#[test]
fn kernels_of_halves_have_the_same_bits_as_cuda() {
    // The host makes a thread of every lane.
    let step = if is_full() { 1 } else { 9 };
    let numbers: Vec<f32> = (0..0x7c00u16)
        .step_by(step)
        .flat_map(|bits| {
            let [low, high] = [bits, bits + 1].map(half::value);
            let middle = if high.is_finite() { (low + high) / 2.0 } else { 65520.0 };
            [middle.next_down(), -middle, middle.next_up()]
        })
        .chain([f32::INFINITY, f32::NAN, -0.0, 1e-45, f32::MIN_POSITIVE])
        .collect();
    let mut graph = Graph::default();
    let x = graph.stored(Data::Singles(std::sync::Arc::new(numbers.clone())), vec![numbers.len() as u32]);
    let rounded = graph.half(x).unwrap();
    let words = played("rounded_halves", &graph, rounded, &[numbers.iter().map(|number| number.to_bits()).collect()]);
    assert_eq!(words, half::packed(numbers.iter().map(|&number| half::rounded(number))));
    assert_eq!(numbers.len() % 2, 1, "the last word has one");

    let all: Vec<u16> = (0..u16::MAX).step_by(step).collect();
    let (words, count) = (half::packed(all.iter().copied()), all.len() as u32);
    let kept = graph.stored(Data::Halves(words.clone(), count), vec![count]);
    let wide = graph.widened(kept);
    let found = played("widened_halves", &graph, wide, &[words]);
    assert!(found.len() == all.len() && found.iter().zip(all).all(|(found, bits)| *found == half::value(bits).to_bits()));

    // A product of small whole numbers is exact in any order.
    let (m, k, n) = (5, 37, 3);
    let value = |i: u32| f64::from(i * 7 % 11) - 5.0;
    let of = |count: u32| half::packed((0..count).map(|i| half::rounded_double(value(i))).collect::<Vec<_>>().into_iter());
    let (left, right) = (of(m * k), of(k * n));
    let a = graph.stored(Data::Halves(left.clone(), m * k), vec![m, k]);
    let b = graph.stored(Data::Halves(right.clone(), k * n), vec![k, n]);
    let product = graph.matmul(a, b).unwrap();
    let found = played("product_of_halves", &graph, product, &[left, right]);
    let entry = |i: u32| (0..k).map(|l| value(i / n * k + l) * value(l * n + i % n)).sum::<f64>() as f32;
    assert_eq!(found, (0..m * n).map(|i| entry(i).to_bits()).collect::<Vec<_>>());
}

/// Every operation of integers on all pairs of edge values, and integers of reals: the words that the CPU's operations give.
#[test]
fn kernels_of_integers_have_the_same_words_as_cuda() {
    let edges = [0, 1, -1, 2, -3, 7, 31, 32, 46341, -46341, (1 << 24) + 1, 0x5555_5555, i32::MAX, i32::MIN, i32::MIN + 1];
    let (count, words) = (edges.len() as u32, edges.map(|value| value as u32).to_vec());
    let mut graph = Graph::default();
    let [a, b] = [[count, 1], [1, count]].map(|shape| graph.integers(words.clone(), shape.to_vec()));
    let factor = graph.integers(vec![31], Vec::new());
    let mut apply = |name: &str, inputs: &[Node]| graph.operation(name, inputs, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    // One kernel, in which a difference anywhere is one in the end.
    let mut all = apply("add", &[a, b]);
    for name in INTEGERS.map(|(name, _)| name) {
        let value = apply(name, &[a, b]);
        let whole = apply("int32", &[value]);
        let scaled = apply("mul", &[all, factor]);
        all = apply("add", &[scaled, whole]);
    }
    for name in ["abs", "sign", "bitwiseNot", "neg"] {
        let value = apply(name, &[a]);
        let scaled = apply("mul", &[all, factor]);
        all = apply("bitwiseXor", &[scaled, value]);
    }
    let found = played("integers", &graph, all, &[words.clone(), words.clone(), vec![31]]);
    for (place, found) in found.into_iter().enumerate() {
        let (a, b) = (edges[place / edges.len()], edges[place % edges.len()]);
        let of_two =
            INTEGERS.iter().fold(a.wrapping_add(b), |all, (_, operation)| all.wrapping_mul(31).wrapping_add(operation.apply(a, b)));
        let of_one = [a.wrapping_abs(), a.signum(), !a, a.wrapping_neg()];
        let right = of_one.iter().fold(of_two, |all, value| all.wrapping_mul(31) ^ value);
        assert_eq!(found as i32, right, "of {a} and {b}");
    }

    let reals = [0.5f32, -1.9, 3e9, -3e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 2_147_483_520.0, -2_147_483_648.0];
    let given = graph.stored(Data::Singles(std::sync::Arc::new(reals.to_vec())), vec![reals.len() as u32]);
    let whole = graph.operation("int32", &[given], &[]).unwrap();
    let found = played("integers_of_reals", &graph, whole, &[reals.map(f32::to_bits).to_vec()]);
    assert_eq!(found, reals.map(|real| real as i32 as u32));
    let sum = graph.operation("sum", &[b], &[0.0, 1.0]).unwrap();
    assert_eq!(played("a_sum", &graph, sum, &[words]), [edges.iter().fold(0i32, |sum, value| sum.wrapping_add(*value)) as u32]);
}

/// Rows in one kernel: lanes of several rows, more than one element a lane, rows that all lanes have as many elements of, and a last
/// workgroup with too few rows.
#[test]
fn kernels_of_rows_are_those_of_cuda() {
    for (rows, length) in [(5u32, 13u32), (3, 150), (2, 512)] {
        let values: Vec<f32> = (0..rows * length).map(|k| ((k * 37 % 101) as f32 - 50.0) * 0.05).collect();
        let words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        let mut graph = Graph::default();
        let x = graph.stored(Data::Singles(std::sync::Arc::new(values.clone())), vec![rows, length]);
        let soft = graph.softmax(x, -1.0).unwrap();
        let squares = graph.apply("square", &[x]).unwrap();
        let sum = graph.reduce("sum", Fold::Sum, squares, &[-1.0], true).unwrap();
        let unit = graph.apply("div", &[x, sum]).unwrap();
        for (name, made) in [("softmax", soft), ("quotients", unit)] {
            let found = played(&format!("{name}_{length}"), &graph, made, std::slice::from_ref(&words));
            for (row, found) in values.chunks(length as usize).zip(found.chunks(length as usize)) {
                let of = |value: &f32| if name == "softmax" { f64::from(*value).exp() } else { f64::from(*value) };
                let total: f64 = row.iter().map(of).map(|value| if name == "softmax" { value } else { value * value }).sum();
                for (value, found) in row.iter().zip(found) {
                    let (found, right) = (f64::from(f32::from_bits(*found)), of(value) / total);
                    assert!((found - right).abs() < 2e-6, "{name} of {rows} × {length}: {found} instead of {right}");
                }
            }
        }
    }
}

/// Walks and edges back of graphs, with ties and equal vectors: the words that the twins' cases expect.
#[test]
fn kernels_of_graphs_find_the_same_neighbours_as_cuda() {
    // Fewer than engines have, since every lane is a thread.
    let group_size = 16;
    for kernel in [StaticKernel::GraphWalk, StaticKernel::GraphLink] {
        let mut random = Random::new(seed(), "graphs as CUDA");
        // Hubs and wide beams meet at barriers many times, which takes long where lanes are threads.
        let is_short = |case: &Case| !["hubs true", "effort 96", "effort 256"].iter().any(|what| case.name.contains(what));
        for (number, case) in cases(kernel, 9, group_size as usize, &mut random).into_iter().filter(is_short).enumerate() {
            let text = written(&kernel.text(), Precision::F32, group_size).unwrap_or_else(|error| panic!("{error}"));
            let [(count, words)] = case.launches() else { panic!("one launch") };
            let groups = count.div_ceil(group_size);
            let params = Params { count: *count, grid_width: groups * group_size, zero: 0, group_count: groups, words: *words };
            let held: Vec<[Vec<u32>; 2]> = text
                .parameters
                .iter()
                .map(|parameter| match *parameter {
                    wgsl_cuda::Parameter::Uniform { .. } => [(); 2].map(|()| bytemuck::cast::<Params, [u32; 16]>(params).to_vec()),
                    wgsl_cuda::Parameter::Storage { binding: slot, .. } => case.held(slot as usize).expect("what is bound"),
                })
                .collect();
            let (before, after): (Vec<_>, Vec<_>) = held.into_iter().map(|[before, after]| (before, after)).unzip();
            let stored = cuda_on_host::play(&format!("{}_{number}", kernel.name()), &text, [groups, 1, 1], &before);
            assert!(stored == after, "LEASTWISE_TEST_SEED={}, {}, {}", seed(), kernel.name(), case.name);
        }
    }
}
