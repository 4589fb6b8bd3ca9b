//! Hessians of a term as a session gives them: of every residual, of batches, ragged terms and many windows.

use crate::hessians::samples::{COUNT, Plain, Sample, close, samples};
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, RaggedSlot, RaggedSpec, Reals, Slot, TermSpec, Trace, Weight};
use leastwise::session::{HessianForm, Progress, Session};
use leastwise::solve::Options;

fn sessions() -> Vec<(&'static str, f64, Shared)> {
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    vec![
        ("cpu in f64", 2e-9, cpu(Precision::F64).into()),
        ("cpu in f32", 2e-4, cpu(Precision::F32).into()),
        ("cpu, small limits", 2e-9, cpu_with(Precision::F64, small).into()),
        ("webgpu, small limits", 2e-4, shared_gpu(Some(small))),
    ]
}

/// All of r, then of J, then of H.
fn evaluate(session: &mut Session, problem: u32, term: u32, form: Option<HessianForm>) -> Vec<f64> {
    let task = session.evaluate_term(problem, term, form).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

fn hessians(session: &mut Session, problem: u32, term: u32, form: HessianForm) -> Vec<f64> {
    let whole = evaluate(session, problem, term, Some(form));
    let plain = evaluate(session, problem, term, None);
    assert_eq!(whole[..plain.len()], plain, "r and J are the same with Hessians and without");
    whole[plain.len()..].to_vec()
}

/// A term over the sample's points, each an instance with a weight of its own.
fn term(session: &mut Session, sample: &Sample, weights: &[f64]) -> (u32, u32) {
    let problem = session.problem();
    let slots = sample.widths.iter().enumerate().map(|(slot, &width)| {
        let first = sample.place(slot as u32, 0);
        let values: Vec<f64> = sample.points.iter().flat_map(|point| point[first..first + width as usize].to_vec()).collect();
        Slot { table: session.table(problem, "x", width, Reals::F64(&values), true).unwrap(), column: 0 }
    });
    let spec = TermSpec {
        name: sample.name.into(),
        count: COUNT as u32,
        indices: vec![(0..COUNT as u32).collect()],
        slots: slots.collect(),
        columns: Vec::new(),
        weight: Weight::Each(Reals::F64(weights)),
        loss: None,
        objective: Default::default(),
        tape: &sample.tape.words,
        outputs: &sample.outputs,
    };
    (problem, session.term(problem, spec).unwrap())
}

/// Whether a + shift I has a Cholesky factor.
fn is_definite(a: &[f64], n: usize, shift: f64) -> bool {
    let mut l = vec![0.0; n * n];
    for r in 0..n {
        for c in 0..=r {
            let rest = a[r * n + c] - (0..c).map(|k| l[r * n + k] * l[c * n + k]).sum::<f64>();
            if r == c && rest + shift <= 0.0 {
                return false;
            }
            l[r * n + c] = if r == c { (rest + shift).sqrt() } else { rest / l[c * n + c] };
        }
    }
    true
}

#[test]
fn hessians_of_terms_are_those_of_their_energy() {
    let weights = [1.0, 2.0, 0.5, 3.0, 0.0];
    for (name, bound, mut session) in sessions() {
        // Where kernels are compiled for a software adapter, every third stands for its neighbours.
        let every = if is_full() || !name.starts_with("webgpu") { 1 } else { 3 };
        for sample in samples().into_iter().step_by(every) {
            let (plain, n) = (Plain::new(&sample), sample.unknowns());
            let (problem, term) = term(&mut session, &sample, &weights);
            let exact = hessians(&mut session, problem, term, HessianForm::Exact);
            let nearest = hessians(&mut session, problem, term, HessianForm::Semidefinite);
            for (instance, (point, weight)) in sample.points.iter().zip(weights).enumerate() {
                let what = format!("`{}` at {instance} on {name}", sample.name);
                let expected: Vec<f64> = plain.hessian(point).iter().map(|x| weight * x).collect();
                let range = instance * n * n..(instance + 1) * n * n;
                let (h, p) = (&exact[range.clone()], &nearest[range]);
                close(&what, h, &expected, bound);
                let size = h.iter().map(|x| x * x).sum::<f64>().sqrt();
                let change: Vec<f64> = p.iter().zip(h).map(|(p, h)| p - h).collect();
                let slack = if bound < 1e-6 { 1e-12 } else { 1e-5 } * size.max(1e-30);
                assert!(is_definite(p, n, slack), "{what}: P has a negative eigenvalue");
                assert!(is_definite(&change, n, slack), "{what}: P − H has a negative eigenvalue");
                let common = (0..n * n).map(|k| (0..n).map(|j| p[k / n * n + j] * change[j * n + k % n]).sum::<f64>().abs());
                assert!(common.fold(0.0, f64::max) <= slack * size.max(1e-30), "{what}: P is not the nearest");
                if is_definite(h, n, -1e-3 * size) {
                    assert_eq!(p, h, "{what}: it was definite before");
                }
            }
            session.free_problem(problem);
        }
    }
}

/// Springs between neighbours on a line whose rest lengths are lengths now: r = 0, and only wJᵀJ is left.
#[test]
fn without_residuals_only_gauss_and_newtons_part_is_left_in_every_window() {
    for (name, bound, mut session) in sessions() {
        let count = 700;
        let values: Vec<f64> = (0..3 * (count + 1)).map(|k| f64::from(k) * 0.25 + f64::from(k % 5) * 0.125).collect();
        let problem = session.problem();
        let x = session.table(problem, "x", 3, Reals::F64(&values), true).unwrap();
        let mut tape = Tape::default();
        let [a, b, rest] = [0, 1, 2].map(|source| tape.input(source));
        let edge = tape.op(Sub, &[a, b]);
        let length = tape.op(Norm, &[edge]);
        let residual = tape.op(Sub, &[length, rest]);
        let lengths = (0..count as usize).map(|k| (0..3).map(|c| (values[3 * k + c] - values[3 * k + 3 + c]).powi(2)).sum::<f64>().sqrt());
        let lengths: Vec<f64> = lengths.collect();
        let spec = TermSpec {
            name: "springs".into(),
            count,
            indices: vec![(0..count).collect(), (1..=count).collect()],
            slots: [0, 1].map(|column| Slot { table: x, column }).to_vec(),
            columns: vec![Column { name: "rest".into(), width: 1, shared: false, values: Reals::F64(&lengths) }],
            weight: Weight::Shared(2.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        let term = session.term(problem, spec).unwrap();
        let all = evaluate(&mut session, problem, term, None);
        let jacobians = &all[count as usize..];
        for form in [HessianForm::Exact, HessianForm::Semidefinite] {
            let found = hessians(&mut session, problem, term, form);
            assert_eq!(found.len(), 36 * count as usize);
            for (instance, (j, h)) in jacobians.chunks(6).zip(found.chunks(36)).enumerate() {
                let expected: Vec<f64> = (0..36).map(|k| 2.0 * j[k / 6] * j[k % 6]).collect();
                close(&format!("{form:?} of spring {instance} on {name}"), h, &expected, bound);
            }
        }
    }
}

#[test]
fn terms_that_share_a_batch_have_their_own_hessians() {
    for (name, bound, mut session) in sessions() {
        let problem = session.problem();
        let values: Vec<f64> = (0..40).map(|k| 0.25 + 0.05 * f64::from(k)).collect();
        let x = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
        // r = x² − number: ½ w r² has the second derivative w(6x² − 2 number).
        let terms = (0..40).map(|k| {
            let mut tape = Tape::default();
            let (x_k, number) = (tape.input(0), tape.literal(0.125 * f64::from(k) + 0.0625));
            let squared = tape.op(Square, &[x_k]);
            let residual = tape.op(Sub, &[squared, number]);
            let spec = TermSpec {
                name: format!("pull {k}"),
                count: 1,
                indices: vec![vec![k]],
                slots: vec![Slot { table: x, column: 0 }],
                columns: Vec::new(),
                weight: Weight::Shared(1.0 + f64::from(k)),
                loss: None,
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[residual],
            };
            session.term(problem, spec).unwrap()
        });
        let terms: Vec<u32> = terms.collect();
        assert_eq!(session.describe_term(problem, terms[3]).unwrap().neighbours, 39, "{name}");
        // That of r and J, which comes first.
        evaluate(&mut session, problem, terms[0], None);
        let before = session.device().counters().kernels_created;
        for k in [0usize, 7, 39] {
            let expected = (1.0 + k as f64) * (6.0 * values[k] * values[k] - 0.25 * k as f64 - 0.125);
            close(&format!("term {k} on {name}"), &hessians(&mut session, problem, terms[k], HessianForm::Exact), &[expected], bound);
            let nearest = hessians(&mut session, problem, terms[k], HessianForm::Semidefinite);
            close(&format!("term {k} on {name}, semidefinite"), &nearest, &[expected.max(0.0)], bound);
        }
        let made = session.device().counters().kernels_created - before;
        // On a GPU that is handed on, the projection may be there already.
        let least = if name.starts_with("webgpu") { 1 } else { 2 };
        assert!((least..=2).contains(&made), "{name}: one kernel for the Hessians of all, and the projection, not {made}");
        solve(&mut session, problem, &Options { max_iterations: Some(2.0), ..Options::default() });
        session.free_problem(problem);
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

#[test]
fn rows_of_different_lengths_have_their_columns_and_zeros_after_them() {
    for (name, bound, mut session) in sessions() {
        let problem = session.problem();
        let values = [0.5, -0.75, 1.25, 0.25];
        let x = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
        // r = the product of a row's entries.
        let tapes = [2usize, 3].map(|length| {
            let mut tape = Tape::default();
            let entries: Vec<u32> = (0..length).map(|source| tape.input(source as u32)).collect();
            let residual = entries[1..].iter().fold(entries[0], |product, &entry| tape.op(Mul, &[product, entry]));
            (length as u32, tape, residual)
        });
        let outputs = [[tapes[0].2], [tapes[1].2]];
        let traces = tapes.iter().zip(&outputs).map(|((length, tape, _), outputs)| Trace { length: *length, tape: &tape.words, outputs });
        let traces: Vec<Trace> = traces.collect();
        let plain = TermSpec {
            name: "products".into(),
            count: 3,
            indices: Vec::new(),
            slots: Vec::new(),
            columns: Vec::new(),
            weight: Weight::Shared(2.0),
            loss: None,
            objective: Default::default(),
            tape: traces[0].tape,
            outputs: traces[0].outputs,
        };
        let rows: [&[u32]; 3] = [&[0, 1, 2], &[2, 3], &[1, 3, 0]];
        let slots = vec![RaggedSlot { table: x, indices: rows.concat() }];
        let term =
            session.ragged_term(problem, RaggedSpec { plain, offsets: vec![0, 3, 5, 8], slots, columns: Vec::new(), traces }).unwrap();
        let found = hessians(&mut session, problem, term, HessianForm::Exact);
        for (row, h) in rows.iter().zip(found.chunks(9)) {
            let at = |k: usize| row.get(k).map_or(0.0, |&index| values[index as usize]);
            let without = |skipped: &[usize]| (0..row.len()).filter(|k| !skipped.contains(k)).map(at).product::<f64>();
            let product = without(&[]);
            let expected = (0..9).map(|k| match (k / 3, k % 3) {
                (r, c) if r >= row.len() || c >= row.len() => 0.0,
                (r, c) if r == c => 2.0 * without(&[r]).powi(2),
                (r, c) => 2.0 * (without(&[r]) * without(&[c]) + product * without(&[r, c])),
            });
            close(&format!("{row:?} on {name}"), h, &expected.collect::<Vec<f64>>(), bound);
        }
    }
}
