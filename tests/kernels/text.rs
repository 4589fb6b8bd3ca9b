//! Every text that the WGSL writer makes passes naga, in f32 and in f64.

use super::build::{Builder, cross_product, rescale, spring};
use super::random::{Random, program};
use leastwise::kernels::{Real, StaticKernel};
use leastwise::program::wgsl::embedded::without_comments;
use leastwise::program::*;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The whole of a program.
fn written(program: &Program) -> KernelText {
    KernelText::new(&wgsl::write(program), program.access())
}

fn validate(program: &Program, context: &str) {
    let text = written(program);
    for real in [Real::F32, Real::F64] {
        let module = text.module(real, 256);
        let parsed = naga::front::wgsl::parse_str(&module);
        let parsed = parsed.unwrap_or_else(|error| panic!("{context}, {real:?}: {}", error.emit_to_string(&module)));
        let capabilities = if real == Real::F64 { Capabilities::FLOAT64 } else { Capabilities::empty() };
        let valid = Validator::new(ValidationFlags::all(), capabilities).validate(&parsed);
        valid.unwrap_or_else(|error| panic!("{context}, {real:?}: {}", error.emit_to_string(&module)));
    }
}

#[test]
fn hand_built_programs_are_valid() {
    for program in [spring(), cross_product(), rescale()] {
        validate(&program, &program.name);
    }
}

#[test]
fn random_programs_are_valid() {
    for seed in 0..200 {
        validate(&program(&mut Random(seed)), &format!("seed {seed}"));
    }
}

/// WGSL refuses a constant expression whose value leaves its type; whatever the operands are, ours are not constant.
#[test]
fn operations_on_constants_are_not_folded_by_the_compiler() {
    for [a, b] in [[1e30, 1e30], [-1e-40, 3e38], [1.0, 0.0], [-0.0, -1.0], [0.1, 1e-300], [-2.5, 123456789.125]] {
        let mut program = Builder::new("constants");
        let (a, b) = (program.constant(a), program.constant(b));
        let mut last = program.push(Instruction::MulAdd(a, b, a));
        for operation in Binary::ALL {
            let value = program.binary(operation, a, b);
            last = program.push(Instruction::Select { condition: value, then: last, otherwise: a });
        }
        for operation in Unary::ALL.into_iter().filter(|operation| *operation != Unary::Detach) {
            let value = program.unary(operation, b);
            last = program.push(Instruction::MulAdd(value, b, last));
        }
        program.store(Store::Column(0), last);
        validate(&program.program, "constants");
    }
}

fn function_files() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/functions");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let code = |text: String| text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    paths.map(|path| (path.file_name().unwrap().display().to_string(), code(std::fs::read_to_string(&path).unwrap()))).collect()
}

/// What the wasm module has of the shaders is what they are without their comments.
#[test]
fn comments_can_be_left_out() {
    let shaders = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders");
    let (mut folders, mut paths) = (vec![std::path::PathBuf::from(shaders)], Vec::new());
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (below, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        folders.extend(below);
        paths.extend(files);
    }
    let mut files = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("/*"), "{}: comments are lines", path.display());
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let expected: String = lines.map(|line| format!("{}\n", line.split("//").next().unwrap_or("").trim_end())).collect();
        let (short, len) = without_comments::<0x10000>(&text);
        assert_eq!(std::str::from_utf8(&short[..len]).unwrap(), expected, "{}", path.display());
        assert_eq!(without_comments::<3>(&text).1, len, "what does not fit is counted");
        files += 1;
    }
    assert!(files > 40, "{files} files");
}

/// What another precision must replace is in two files.
#[test]
fn functions_do_not_look_at_bits() {
    for (name, code) in function_files().into_iter().filter(|(name, _)| name != "bits.wgsl" && name != "far_turn.wgsl") {
        for word in ["bitcast", "f32", "u32", "frexp", "ldexp", "exp(", "exp2(", "log(", "log2(", "pow(", "sin(", "cos(", "tan(", "atan2("]
        {
            let used = code.match_indices(word).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
            assert!(!used, "{name} has `{word}`");
        }
    }
}

#[test]
fn every_function_is_of_use() {
    let mut all = Builder::new("all");
    let [a, b] = [0, 1].map(|column| all.load(Load::Data(column)));
    let mut sum = a;
    for operation in Unary::ALL.into_iter().filter(|operation| *operation != Unary::Detach) {
        let value = all.unary(operation, a);
        sum = all.binary(Binary::Add, sum, value);
    }
    for operation in Binary::ALL {
        let value = all.binary(operation, a, b);
        sum = all.binary(Binary::Add, sum, value);
    }
    all.store(Store::Column(0), sum);
    validate(&all.program, "all");
    let text = written(&all.program).body(Real::F32);
    let fixed: Vec<_> = StaticKernel::ALL.iter().map(|kernel| kernel.text().body(Real::F32)).collect();
    for (file, code) in function_files() {
        for line in code.lines().filter(|line| line.starts_with("fn ") || line.starts_with("struct ")) {
            let of_fixed = fixed.iter().map(|text| text.matches(line).count()).max();
            assert_eq!(text.matches(line).count().max(of_fixed.unwrap_or(0)), 1, "{file}: {line}");
        }
    }
}

/// A module has the functions that it calls, and no others.
#[test]
fn only_what_is_called_is_there() {
    let mut logarithm = Builder::new("logarithm");
    let x = logarithm.load(Load::Data(0));
    let value = logarithm.unary(Unary::Log, x);
    logarithm.store(Store::Column(0), value);
    let text = written(&logarithm.program).body(Real::F32);
    let declared: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("fn ")?.split('(').next()).collect();
    assert_eq!(declared, ["main", "power_of_two", "scale_by_power_of_two", "exponent_of", "logarithm_part", "logarithm"]);
}
