//! The kernels of representative terms, whole: as golden files that readers can look at, through naga, and on to Dawn
//! (`target/wgsl/`, compiled by the package's tests in Node).
//!
//! `LEASTWISE_BLESS=1 cargo test --test generated` writes the golden files anew.

use crate::support::Tape;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::expr::Graph;
use leastwise::expr::Opcode;
use leastwise::kernels::Real;
use leastwise::problem::{Column, Loss, Problem, Reals, Registry, Shape, Slot, TermSpec, Weight};
use leastwise::program::fit::{fit_parameter, fit_variable};
use leastwise::program::{
    Binary, FitLayout, FitModel, FitProgram, FitWeights, HalfProduct, Instruction, KernelText, Likelihood, Load, MergedProgram,
    OwnerProgram, Program, ReducedProgram, Store, Unary, wgsl,
};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A term of two vertices: its programs by name, and the modules of its product by the owners of column 0, and of that without the slot
/// `eliminated`, and of one kernel of its first half by owners and that by instances.
fn programs(
    build: impl Fn(&mut Tape) -> u32,
    slots: &[(usize, u32)],
    columns: &[&str],
    eliminated: u32,
) -> (Vec<(&'static str, Program)>, [KernelText; 3]) {
    let mut device = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
    let mut problem = Problem::new();
    let values = [0.0, 0.0, 0.0, 1.0, 2.0, 3.0];
    let mut registry = Registry::default();
    let tables = [true, true, false]
        .map(|moving| problem.add_table(&device, &mut registry, "t", vec![Shape::Euclidean(3)], Reals::F64(&values), moving).unwrap());
    let mut tape = Tape::default();
    let output = build(&mut tape);
    let spec = TermSpec {
        name: "term".into(),
        count: 2,
        indices: vec![vec![0, 1], vec![1, 0]],
        slots: slots.iter().map(|&(table, column)| Slot { table: tables[table], column }).collect(),
        columns: columns
            .iter()
            .map(|name| Column { name: name.to_string(), width: 1, shared: false, values: Reals::F64(&[1.0, 2.0]) })
            .collect(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[output],
    };
    problem.add_term(&device, &mut registry, spec).unwrap();
    problem.lay_out(&mut device, &mut registry).unwrap();
    let batch = &problem.batches()[0];
    let all = &batch.programs;
    let owner = OwnerProgram::new(&all.product, all, batch.signature(), 0).expect("a column whose variables move");
    let programs = vec![
        ("linearize", all.linearize.clone()),
        ("energy", all.energy.clone()),
        ("change", all.change.clone()),
        ("gradient", all.gradient.clone()),
        ("product", all.product.clone()),
        ("diagonal", all.diagonal.clone()),
    ];
    let reduced = ReducedProgram::new(all, batch.signature(), eliminated, wgsl::Cut::Coarse).expect("a slot of few unknowns");
    let format = wgsl::Format::Single;
    let halves = [HalfProduct::Owners(OwnerProgram { adds: false, ..owner.clone() }), HalfProduct::Instances(all.product.clone())];
    let merged = wgsl::merged_module(&MergedProgram { programs: halves.into() }, format).unwrap();
    (programs, [wgsl::owner_module(&owner, format).unwrap(), wgsl::reduced_module(&reduced, format).unwrap(), merged])
}

fn spring() -> (Vec<(&'static str, Program)>, [KernelText; 3]) {
    let residual = |tape: &mut Tape| {
        let [a, b, rest] = [0, 1, 2].map(|source| tape.input(source));
        let edge = tape.op(Opcode::Sub, &[a, b]);
        let length = tape.op(Opcode::Norm, &[edge]);
        tape.op(Opcode::Sub, &[length, rest])
    };
    programs(residual, &[(0, 0), (0, 1)], &["rest"], 1)
}

fn arap() -> (Vec<(&'static str, Program)>, [KernelText; 3]) {
    let residual = |tape: &mut Tape| {
        let [a, b, angles, a0, b0] = [0, 1, 2, 3, 4].map(|source| tape.input(source));
        let now = tape.op(Opcode::Sub, &[a, b]);
        let before = tape.op(Opcode::Sub, &[a0, b0]);
        let turned = tape.op(Opcode::RotateXYZ, &[angles, before]);
        tape.op(Opcode::Sub, &[now, turned])
    };
    programs(residual, &[(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)], &[], 2)
}

/// Functions that WGSL leaves to the adapter, in a residual and its derivatives.
fn polar() -> (Vec<(&'static str, Program)>, [KernelText; 3]) {
    let residual = |tape: &mut Tape| {
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let [x, y, base, exponent] =
            [(a, 0), (a, 1), (b, 0), (b, 1)].map(|(value, component)| tape.op(Opcode::Component, &[value, component]));
        let angle = tape.op(Opcode::Atan2, &[y, x]);
        let power = tape.op(Opcode::Pow, &[base, exponent]);
        let logarithm = tape.op(Opcode::Log1p, &[power]);
        tape.op(Opcode::Sub, &[angle, logarithm])
    };
    programs(residual, &[(0, 0), (0, 1)], &[], 1)
}

/// A Gaussian of two axes on shared pixels with a fixed offset, bounds, and points of any number; Poisson's likelihood of a decay with
/// times and weights of its own; and a polynomial of more parameters than a thread has registers for.
pub fn fits() -> [(&'static str, FitProgram); 3] {
    let mut graph = Graph::new();
    let [a, mu, width, offset] = [0, 1, 2, 3].map(|number| graph.leaf(fit_parameter(number)));
    let x = graph.leaf(fit_variable(0));
    let distance = graph.sub(x, mu);
    let ratio = graph.div(distance, width);
    let square = graph.square(ratio);
    let exponent = graph.times(square, -0.5);
    let bell = graph.unary(Unary::Exp, exponent);
    let height = graph.mul(a, bell);
    let value = graph.add(height, offset);
    let robust = (Loss::huber(1.5).unwrap().kind, vec![1.5]);
    let model = FitModel { graph: &graph, value, likelihood: &Likelihood::LeastSquares(Some(robust)) };
    let (variables, weights) = (vec![true], FitWeights::Shared);
    let layout = FitLayout { parameters: 4, free: vec![0, 1, 2], variables, weights, ragged: true, bounded: true };
    let bell = FitProgram::new(&model, layout);
    let [rate, t] = [graph.leaf(fit_parameter(1)), graph.leaf(fit_variable(0))];
    let product = graph.mul(rate, t);
    let exponent = graph.neg(product);
    let decay = graph.unary(Unary::Exp, exponent);
    let value = graph.mul(a, decay);
    let model = FitModel { graph: &graph, value, likelihood: &Likelihood::Poisson };
    let (variables, weights) = (vec![false], FitWeights::Each);
    let layout = FitLayout { parameters: 2, free: vec![0, 1], variables, weights, ragged: false, bounded: false };
    let decay = FitProgram::new(&model, layout);
    let mut value = graph.leaf(fit_parameter(13));
    for number in (0..13).rev() {
        let (product, coefficient) = (graph.mul(value, t), graph.leaf(fit_parameter(number)));
        value = graph.add(product, coefficient);
    }
    let model = FitModel { graph: &graph, value, likelihood: &Likelihood::LeastSquares(None) };
    let free = (0..14).filter(|number| *number != 2).collect();
    let layout = FitLayout { parameters: 14, free, variables: vec![true], weights: FitWeights::Each, ragged: true, bounded: true };
    [("fit_bell", bell), ("fit_decay", decay), ("fit_polynomial", FitProgram::new(&model, layout))]
}

/// A module of every operation.
fn operations() -> Program {
    let mut instructions = vec![Instruction::Load(Load::Data(0)), Instruction::Load(Load::Data(1))];
    let unary = Unary::ALL.into_iter().filter(|operation| *operation != Unary::Detach);
    instructions.extend(unary.map(|operation| Instruction::Unary(operation, 0)));
    instructions.extend(Binary::ALL.map(|operation| Instruction::Binary(operation, 0, 1)));
    let stores = (2..instructions.len() as u32).map(|value| (Store::Column(value - 2), value)).collect();
    Program { name: "operations".into(), instructions, stores, ..Program::default() }
}

/// The whole of a program.
fn written(program: &Program) -> KernelText {
    KernelText::new(&wgsl::write(program), program.access())
}

/// Through naga, and into the folder of which Dawn compiles everything.
fn validate(name: &str, text: &KernelText) {
    let root = env!("CARGO_MANIFEST_DIR");
    let module = text.module(Real::F32, 256);
    let parsed = naga::front::wgsl::parse_str(&module).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&module)));
    Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&parsed).unwrap();
    std::fs::create_dir_all(format!("{root}/target/wgsl")).unwrap();
    std::fs::write(format!("{root}/target/wgsl/generated_{name}.wgsl"), module).unwrap();
}

#[test]
fn every_operation_is_valid() {
    validate("operations", &written(&operations()));
}

#[test]
fn generated_kernels_are_the_golden_ones_and_valid() {
    let root = env!("CARGO_MANIFEST_DIR");
    for (term, (programs, [by_owners, reduced, merged])) in [("spring", spring()), ("arap", arap()), ("polar", polar())] {
        let texts = programs.into_iter().map(|(name, program)| (name, written(&program)));
        for (name, text) in texts.chain([("product_by_owners", by_owners), ("product_reduced", reduced), ("products_merged", merged)]) {
            let golden = format!("{root}/tests/golden/{term}_{name}.wgsl");
            if std::env::var_os("LEASTWISE_BLESS").is_some() {
                std::fs::write(&golden, text.wgsl.as_bytes()).unwrap();
            }
            assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), *text.wgsl, "{term}_{name}: LEASTWISE_BLESS=1 writes it anew");
            validate(&format!("{term}_{name}"), &text);
        }
    }
    for (name, fit) in fits() {
        let (text, golden) = (wgsl::fit_module(&fit), format!("{root}/tests/golden/{name}.wgsl"));
        if std::env::var_os("LEASTWISE_BLESS").is_some() {
            std::fs::write(&golden, text.wgsl.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), *text.wgsl, "{name}: LEASTWISE_BLESS=1 writes it anew");
        validate(name, &text);
    }
}

/// Entries of J that are constant are in the kernel, and one of two that differ in sign alone is stored.
#[test]
fn constant_entries_are_not_stored_and_opposite_ones_once() {
    let count = |programs: &[(&str, Program)], which: &str| {
        programs.iter().find(|(name, _)| *name == which).map(|(_, program)| program.stores.len()).unwrap()
    };
    let (spring, _) = spring();
    assert_eq!(count(&spring, "linearize"), 1 + 3, "r and one end's three entries: the other end has their negatives");
    assert_eq!(count(&spring, "product"), 3, "what one end gets, the other gets with the opposite sign");
    let (arap, _) = arap();
    assert_eq!(count(&arap, "linearize"), 3 + 8, "r and the rotation's entries but the one that is 0: positions have ±1");
    assert_eq!(count(&arap, "product"), 3 + 3);
    assert_eq!(count(&arap, "diagonal"), 1 + 6, "both ends have the weight times the identity");
}
