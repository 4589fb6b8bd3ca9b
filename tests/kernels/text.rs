//! Every text that the WGSL writer makes passes naga, in f32, in f64 and in double-floats.

use super::build::{Builder, cross_product, rescale, spring};
use super::random::{Random, program};
use leastwise::kernels::{Products, Real, StaticKernel, doubles};
use leastwise::program::*;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The whole of a program.
fn written(program: &Program) -> KernelText {
    KernelText::new(&wgsl::write(program), program.access())
}

fn validate(program: &Program, context: &str) {
    let text = written(program);
    for real in [Real::F32, Real::F64] {
        let capabilities = if real == Real::F64 { Capabilities::FLOAT64 } else { Capabilities::empty() };
        validate_module(&text.module(real, 256), capabilities, &format!("{context}, {real:?}"));
    }
}

fn validate_module(module: &str, capabilities: Capabilities, context: &str) {
    let parsed = naga::front::wgsl::parse_str(module);
    let parsed = parsed.unwrap_or_else(|error| panic!("{context}: {}", error.emit_to_string(module)));
    let valid = Validator::new(ValidationFlags::all(), capabilities).validate(&parsed);
    valid.unwrap_or_else(|error| panic!("{context}: {}", error.emit_to_string(module)));
}

fn validate_in_doubles(program: &Program, context: &str) {
    let text = wgsl::whole(program, wgsl::Format::Double).expect("constants in range");
    for products in [Products::Fma, Products::Halves] {
        validate_module(&doubles::module(&text, products, 256), Capabilities::empty(), &format!("{context}, {products:?}"));
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
        let program = program(&mut Random(seed));
        validate(&program, &format!("seed {seed}"));
        if seed % 8 == 0 {
            validate_in_doubles(&program, &format!("seed {seed}"));
        }
    }
}

#[test]
fn a_constant_beyond_the_range_of_double_floats_is_refused() {
    let mut program = Builder::new("constants");
    let value = program.constant(1e300);
    program.store(Store::Column(0), value);
    let refusal = wgsl::whole(&program.program, wgsl::Format::Double).map(|text| text.wgsl);
    assert_eq!(refusal, Err("1e300 is beyond the range of f32".into()));
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
    validate_in_doubles(&all.program, "all");
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
    let functions =
        ["power_of_two", "scale_by_power_of_two", "exponent_of", "infinity", "logarithm_part", "logarithm_at_edges", "logarithm"];
    assert_eq!(declared[0], "main");
    assert_eq!(declared[1..], functions);
}
