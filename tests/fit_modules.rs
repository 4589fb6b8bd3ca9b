//! Sums of fits as WebAssembly, run by wasmi: bit by bit those of plain loops over lanes and points.

use crate::support::fits::*;
use leastwise::device::Precision;
use leastwise::device::cpu::block::LANES;
use leastwise::device::cpu::real::Real;
use leastwise::device::cpu::wasm::{Module, SumsForm, is_summed, sums};
use leastwise::expr::{Expr, Graph, Unary};
use leastwise::program::fit::{fit_parameter, fit_variable};
use leastwise::program::{Binary, FitLayout, FitModel, FitProgram, FitWeights, Instruction, Likelihood, Load, Store};
use wasmi::{Engine, Func, Linker, Memory, MemoryType};

/// A spot of 5 parameters on a plane: amplitude, place, width, background.
fn spot(graph: &mut Graph) -> Expr {
    let [a, x0, y0, s, b] = [0, 1, 2, 3, 4].map(|number| graph.leaf(fit_parameter(number)));
    let [x, y] = [0, 1].map(|number| graph.leaf(fit_variable(number)));
    let [u, v] = [(x, x0), (y, y0)].map(|(at, center)| {
        let distance = graph.sub(at, center);
        graph.square(distance)
    });
    let (distance, width) = (graph.add(u, v), graph.square(s));
    let width = graph.times(width, -2.0);
    let exponent = graph.div(distance, width);
    let bell = graph.unary(Unary::Exp, exponent);
    let height = graph.mul(a, bell);
    graph.add(height, b)
}

fn programs() -> Vec<(String, FitProgram)> {
    let of_scene = |scene: Scene| {
        let mut graph = Graph::new();
        let value = bells(&mut graph, scene.peaks);
        let program = FitProgram::new(&FitModel { graph: &graph, value, likelihood: &scene.likelihood }, scene.layout());
        (scene.name.to_string(), program)
    };
    let mut graph = Graph::new();
    let value = spot(&mut graph);
    let layout = |ragged: bool| FitLayout {
        parameters: 5,
        free: vec![0, 1, 2, 3, 4],
        variables: vec![true, true],
        weights: FitWeights::None,
        ragged,
        bounded: false,
    };
    let model = FitModel { graph: &graph, value, likelihood: &Likelihood::LeastSquares(None) };
    let spots = [false, true].map(|ragged| (format!("spots, ragged: {ragged}"), FitProgram::new(&model, layout(ragged))));
    scenes().into_iter().map(of_scene).chain(spots).collect()
}

/// Columns of lanes that a run reads, and those of sums, which it goes on from.
struct Given<R> {
    /// By number: of parameters one run of lanes, of the others one for each point, or one number where all fits share it.
    columns: Vec<Vec<R>>,
    left: Vec<R>,
    sums: Vec<Vec<R>>,
}

/// The same by plain loops.
fn plainly<R: Real>(fit: &FitProgram, form: &SumsForm, points: usize, given: &Given<R>) -> Vec<Vec<R>> {
    let (program, n) = (&fit.program, form.columns as usize);
    let mut sums = given.sums.clone();
    let truth = |holds: bool| if holds { R::ONE } else { R::ZERO };
    let lows = 1 + (1 + n) + n * (n + 1) / 2;
    #[expect(clippy::needless_range_loop, reason = "a lane is an index of all columns and all sums")]
    for lane in 0..LANES {
        for point in 0..points {
            let mut values: Vec<R> = Vec::new();
            for instruction in &program.instructions {
                let of = |value: u32| values[value as usize];
                values.push(match *instruction {
                    Instruction::Const(number) => R::from_f64(number),
                    Instruction::Load(Load::Given(number)) => match number.checked_sub(form.parameters) {
                        None => given.columns[number as usize][lane],
                        Some(k) if form.shared[k as usize] => given.columns[number as usize][point],
                        Some(_) => given.columns[number as usize][point * LANES + lane],
                    },
                    Instruction::Unary(operation, a) => match operation {
                        Unary::Neg => -of(a),
                        Unary::Abs => of(a).abs(),
                        Unary::Sqrt => of(a).sqrt(),
                        Unary::Exp => of(a).exp(),
                        Unary::Not => truth(of(a) == R::ZERO),
                        Unary::Finite => truth(of(a).is_finite()),
                        other => unreachable!("{other:?}"),
                    },
                    Instruction::Binary(operation, a, b) => match (operation, of(a), of(b)) {
                        (Binary::Add, a, b) => a + b,
                        (Binary::Sub, a, b) => a - b,
                        (Binary::Mul, a, b) => a * b,
                        (Binary::Div, a, b) => a / b,
                        (Binary::Lt, a, b) => truth(a < b),
                        (Binary::Le, a, b) => truth(a <= b),
                        (Binary::And, a, b) => truth(a != R::ZERO && b != R::ZERO),
                        (Binary::Or, a, b) => truth(a != R::ZERO || b != R::ZERO),
                        (other, ..) => unreachable!("{other:?}"),
                    },
                    Instruction::MulAdd(a, b, c) => of(a) * of(b) + of(c),
                    Instruction::Select { condition, then, otherwise } => {
                        if of(condition) != R::ZERO {
                            of(then)
                        } else {
                            of(otherwise)
                        }
                    }
                    other => unreachable!("{other:?}"),
                });
            }
            if form.ragged && R::from_f64(point as f64) >= given.left[lane] {
                values.clear();
            }
            let column = |number: usize| {
                let value = program.stores.iter().find(|(store, _)| *store == Store::Tile(number as u32)).unwrap().1;
                values.get(value as usize).copied()
            };
            let [cost, u, k] = [0, 1, 2].map(|number| column(number).unwrap_or(R::ZERO));
            let row: Vec<R> = (0..n).map(|j| column(4 + j).unwrap_or(R::ZERO)).collect();
            if column(3) == Some(R::ZERO) {
                sums[0][lane] = R::ZERO;
            }
            for (number, value) in std::iter::once(cost).chain(row.iter().map(|j| u * *j)).enumerate() {
                let addend = value - sums[lows + number][lane];
                let next = sums[1 + number][lane] + addend;
                sums[lows + number][lane] = (next - sums[1 + number][lane]) - addend;
                sums[1 + number][lane] = next;
            }
            for i in 0..n {
                for j in 0..=i {
                    sums[2 + n + i * (i + 1) / 2 + j][lane] += k * row[i] * row[j];
                }
            }
        }
        let diagonal = (0..n).map(|i| 2 + n + i * (i + 1) / 2 + i);
        if (1..2 + n).chain(diagonal).any(|number| !sums[number][lane].is_finite()) {
            sums[0][lane] = R::ZERO;
        }
    }
    sums
}

const PAGE: usize = 1 << 16;

/// What the module comes to.
fn by_module<R: Real>(module: &Module, form: &SumsForm, points: usize, given: &Given<R>) -> Vec<Vec<R>> {
    let mut bytes = vec![0; 4096];
    let mut put = |values: &[R]| {
        let at = bytes.len() as u32;
        bytes.extend(bytemuck::cast_slice::<R, u8>(values));
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        at
    };
    let mut words = vec![points as u32, 0];
    words.extend(module.views.iter().map(|view| match *view {
        leastwise::device::cpu::block::View::Given(number) => put(given.columns.get(number as usize).unwrap_or(&given.left)),
        other => unreachable!("{other:?}"),
    }));
    let targets: Vec<u32> = given.sums.iter().map(|column| put(column)).collect();
    words.extend(&targets);
    bytes[..4 * words.len()].copy_from_slice(bytemuck::cast_slice(&words));
    let engine = Engine::default();
    let mut store = wasmi::Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(bytes.len().div_ceil(PAGE) as u32, None)).unwrap();
    memory.data_mut(&mut store)[..bytes.len()].copy_from_slice(&bytes);
    let mut linker = Linker::new(&engine);
    linker.define("engine", "memory", memory).unwrap();
    // It calls nothing.
    linker.define("engine", "apply", Func::wrap(&mut store, |_: u32, _: u32, _: u32, _: u32, _: u32| {})).unwrap();
    let compiled = wasmi::Module::new(&engine, &module.bytes).unwrap();
    let run = linker.instantiate_and_start(&mut store, &compiled).unwrap().get_typed_func::<(u32, u32), u32>(&store, "run").unwrap();
    assert_eq!(run.call(&mut store, (0, LANES as u32)).unwrap(), 0);
    let after = memory.data(&store);
    let first = targets[0] as usize;
    assert!(after[..first] == bytes[..first], "what is only read was written to");
    assert_eq!(given.sums.len(), sums(form.columns) as usize);
    let column =
        |at: &u32| after[*at as usize..][..LANES * size_of::<R>()].chunks(size_of::<R>()).map(bytemuck::pod_read_unaligned).collect();
    targets.iter().map(column).collect()
}

fn compare<R: Real>(name: &str, fit: &FitProgram, precision: Precision) {
    let columns = fit.layout.free_count();
    let form = SumsForm::new(&fit.layout, columns);
    let module = Module::of_sums(&fit.program, &form, precision).unwrap();
    wasmparser::validate(&module.bytes).expect("a module that is valid");
    let mut noise = Noise::new(5);
    for points in [0, 1, 7, 25] {
        let mut number = |low: f64, high: f64| R::from_f64(noise.between(low, high));
        let mut given: Vec<Vec<R>> = (0..form.parameters).map(|_| (0..LANES).map(|_| number(0.5, 4.0)).collect()).collect();
        for shared in &form.shared {
            given.push((0..if *shared { points } else { points * LANES }).map(|_| number(0.1, 5.0)).collect());
        }
        let left = (0..LANES).map(|lane| R::from_f64((lane % (points + 2)) as f64)).collect();
        let mut all = Given { columns: given, left, sums: vec![vec![R::ZERO; LANES]; sums(columns) as usize] };
        all.sums[0].fill(R::ONE);
        // Lanes that are not defined, or not finite.
        all.columns[0][3] = R::from_f64(f64::NAN);
        all.columns[0][9] = R::from_f64(f64::INFINITY);
        if points > 1 {
            all.columns[form.parameters as usize + form.shared.len() - 2][LANES + 5] = R::from_f64(f64::NAN);
        }
        for _ in 0..2 {
            let (found, expected) = (by_module(&module, &form, points, &all), plainly(fit, &form, points, &all));
            let bits = |value: R| value.to_f64().to_bits();
            for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                for (lane, (a, b)) in found.iter().zip(expected).enumerate() {
                    let same = bits(*a) == bits(*b) || a.is_nan() && b.is_nan();
                    assert!(same, "{name}, {precision:?}, {points} points: sum {number} of lane {lane} is {a:?}, not {b:?}");
                }
            }
            let usable = found[0].iter().filter(|value| **value == R::ONE).count();
            assert!(points == 0 || usable > 50 && usable < 64 || form.ragged, "{name}, {points} points: {usable} lanes");
            // Another run of points goes on from there.
            all.sums = found;
        }
    }
}

#[test]
fn modules_add_up_what_plain_loops_do() {
    let mut tried = 0;
    for (name, fit) in programs() {
        if !is_summed(&fit.program, fit.layout.free_count()) {
            assert!(["cauchy", "poisson"].contains(&name.as_str()), "{name} has functions");
            continue;
        }
        tried += 1;
        compare::<f32>(&name, &fit, Precision::F32);
        compare::<f64>(&name, &fit, Precision::F64);
    }
    assert_eq!(tried, 7);
}
