//! What residuals leave free: named, refused, or left out by the pseudo-inverse.

use crate::covariance::{all, blocks, close, covariance, known, pseudo_inverse, sessions};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, EntryColumn, RaggedSlot, Reals, Shape, Slot, SummedSpec, TermSpec, Weight};
use leastwise::session::Session;

fn add(session: &mut Session, problem: u32, slots: &[u32], indices: Vec<Vec<u32>>, data: &[(u32, &[f64])], tape: (&Tape, &[u32])) -> u32 {
    let columns =
        data.iter().map(|(width, values)| Column { name: "data".into(), width: *width, shared: false, values: Reals::F64(values) });
    let spec = TermSpec {
        name: "term".into(),
        count: indices[0].len() as u32,
        slots: (0..).zip(slots).map(|(column, &table)| Slot { table, column }).collect(),
        columns: columns.collect(),
        indices,
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.0.words,
        outputs: tape.1,
    };
    session.term(problem, spec).unwrap()
}

/// Points with measured distances between each and the next few.
fn truss(session: &mut Session, count: u32, dimensions: u32, seed: u64) -> (u32, u32) {
    let mut random = Random::new(seed);
    let problem = session.problem();
    let places: Vec<f64> = (0..count * dimensions).map(|_| random.between(-2.0, 2.0)).collect();
    let x = session.table(problem, "joint", dimensions, Reals::F64(&places), true).unwrap();
    let reach = dimensions + 2;
    let pairs: Vec<(u32, u32)> = (0..count).flat_map(|a| (1..=reach).map(move |k| (a, (a + k) % count))).filter(|(a, b)| a != b).collect();
    let lengths: Vec<f64> = pairs.iter().map(|_| random.between(0.5, 1.5)).collect();
    let mut tape = Tape::default();
    let [a, b, length] = [0, 1, 2].map(|source| tape.input(source));
    let apart = tape.op(Sub, &[a, b]);
    let distance = tape.op(Norm, &[apart]);
    let residual = tape.op(Sub, &[distance, length]);
    let indices = vec![pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
    add(session, problem, &[x, x], indices, &[(1, &lengths)], (&tape, &[residual]));
    (problem, x)
}

/// J by differences of r would not do for Moore and Penrose: JᵀWJ of a truss by its formula.
fn matrix_of_truss(places: &[f64], count: u32, d: usize) -> Vec<Vec<f64>> {
    let n = places.len();
    let mut matrix = vec![vec![0.0; n]; n];
    let reach = d as u32 + 2;
    for (a, b) in (0..count).flat_map(|a| (1..=reach).map(move |k| (a, (a + k) % count))).filter(|(a, b)| a != b) {
        let (a, b) = (a as usize * d, b as usize * d);
        let apart: Vec<f64> = (0..d).map(|k| places[a + k] - places[b + k]).collect();
        let length = apart.iter().map(|x| x * x).sum::<f64>().sqrt();
        let row: Vec<(usize, f64)> = (0..d).flat_map(|k| [(a + k, apart[k] / length), (b + k, -apart[k] / length)]).collect();
        for &(r, x) in &row {
            row.iter().for_each(|&(c, y)| matrix[r][c] += x * y);
        }
    }
    matrix
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter().map(|row| (0..b[0].len()).map(|c| row.iter().zip(b).map(|(x, other)| x * other[c]).sum()).collect()).collect()
}

#[test]
fn a_truss_that_nothing_holds_moves_as_a_whole() {
    for (name, mut session, _) in sessions() {
        // Few unknowns, and many.
        for (count, d, translations, rotations) in [(12, 2, 2, 1), (12, 3, 3, 3), (150, 2, 2, 1), (120, 3, 3, 3)] {
            let (problem, x) = truss(&mut session, count, d, 7);
            let what = format!("{name}, {count} in {d} dimensions");
            let error = covariance(&mut session, problem, &known()).map(|_| ()).unwrap_err();
            assert_eq!(error.code(), "rank-deficient", "{what}");
            let said = error.to_string();
            let turns = if d == 2 { "1 rotation" } else { "3 rotations" };
            let motions = format!("{} directions move nothing that a residual sees", translations + rotations);
            assert!(said.contains(&motions) && said.contains("\"joint\"") && said.contains("0, 1, 2, 3, 4, 5, 6, 7, …"), "{what}: {said}");
            assert!(said.contains(&format!("{translations} translations, {turns})")), "{what}: {said}");
            let made = covariance(&mut session, problem, &pseudo_inverse()).unwrap();
            assert_eq!(made.summary.method, if count * d > 200 { "sparse" } else { "dense" }, "{what}");
            let [unseen] = &made.summary.unseen[..] else { panic!("{what}: {:?}", made.summary.unseen) };
            let counted = (unseen.translations, unseen.rotations, unseen.scalings, unseen.untouched, unseen.instances);
            assert_eq!(counted, (translations, rotations, 0, 0, count), "{what}");
            let held = |session: &mut Session, which: &[u32], components: Option<&[u32]>| {
                session.fix_table(problem, x, Some(which), components).unwrap()
            };
            // A point holds the translations; what is left turns about it.
            held(&mut session, &[0], None);
            let turning = covariance(&mut session, problem, &pseudo_inverse()).unwrap().summary;
            let [unseen] = &turning.unseen[..] else { panic!("{what}: {:?}", turning.unseen) };
            assert_eq!(
                (turning.deficiency, unseen.translations, unseen.rotations, unseen.instances),
                (rotations, 0, rotations, count - 1),
                "{what}"
            );
            held(&mut session, &[1], None);
            let left = covariance(&mut session, problem, &known());
            // In space it still turns about the line between the two.
            assert_eq!(left.is_ok(), d == 2, "{what}");
            held(&mut session, &[2], None);
            assert_eq!(covariance(&mut session, problem, &known()).unwrap().summary.deficiency, 0, "{what}");
        }
    }
}

/// In a ring, next to nothing is filled in: blocks of all are those that the factor has places for, of one it is solved.
#[test]
fn blocks_are_the_same_alone_and_together() {
    let mut session = cpu(Precision::F64);
    let (problem, x) = truss(&mut session, 400, 3, 5);
    for options in [pseudo_inverse(), known()] {
        let together = covariance(&mut session, problem, &options).unwrap();
        let expected = blocks(&mut session, &together, &all(&[(x, 400)]), None, "covariance");
        let alone = covariance(&mut session, problem, &options).unwrap();
        for instance in [0, 1, 2, 57, 399] {
            let block = blocks(&mut session, &alone, &[(x, instance)], None, "covariance");
            close(&format!("block {instance}"), &block, &expected[9 * instance as usize..][..9], 1e-8);
        }
        session.fix_table(problem, x, Some(&[0, 1, 2]), None).unwrap();
    }
}

#[test]
fn the_pseudo_inverse_is_moores_and_penroses() {
    for (count, method) in [(14, "dense"), (75, "sparse")] {
        let mut session = cpu(Precision::F64);
        let (problem, x) = truss(&mut session, count, 3, 19);
        let places = read(&mut session, problem, x);
        let made = covariance(&mut session, problem, &pseudo_inverse()).unwrap();
        assert_eq!((made.summary.method, made.summary.deficiency), (method, 6));
        let n = places.len();
        let joint = blocks(&mut session, &made, &all(&[(x, count)]), None, "joint");
        let inverse: Vec<Vec<f64>> = joint.chunks(n).map(<[f64]>::to_vec).collect();
        let matrix = matrix_of_truss(&places, count, 3);
        let onto = product(&matrix, &inverse);
        close("HXH", &product(&onto, &matrix).concat(), &matrix.concat(), 1e-9);
        close("XHX", &product(&inverse, &onto).concat(), &joint, 1e-9);
        let turned: Vec<f64> = (0..n).flat_map(|c| onto.iter().map(move |row| row[c])).collect();
        close("(HX)ᵀ", &turned, &onto.concat(), 1e-9);
    }
}

#[test]
fn what_nothing_touches_is_named() {
    for (name, mut session, _) in sessions() {
        for count in [12, 150] {
            let (problem, x) = truss(&mut session, count, 2, 3);
            let loose = session.table(problem, "loose", 1, Reals::F64(&[1.0; 5]), true).unwrap();
            session.fix_table(problem, x, Some(&[0, 1]), None).unwrap();
            let error = covariance(&mut session, problem, &known()).map(|_| ()).unwrap_err().to_string();
            assert!(
                error.contains("5 directions move")
                    && error.contains("\"loose\" (5 instances: 0, 1, 2, 3, 4; no residual touches 5 of them)"),
                "{name}: {error}"
            );
            session.fix_table(problem, loose, Some(&[0, 1, 3, 4]), None).unwrap();
            let error = covariance(&mut session, problem, &known()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("1 direction moves") && error.contains("\"loose\" (1 instances: 2;"), "{name}: {error}");
            let made = covariance(&mut session, problem, &pseudo_inverse()).unwrap();
            assert_eq!(blocks(&mut session, &made, &[(loose, 2)], None, "covariance"), [0.0], "{name}");
        }
    }
}

/// Problems that fall apart have more freedoms than are looked for.
#[test]
fn more_freedoms_than_are_looked_for_are_refused_in_any_case() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 2, Reals::F64(&[0.5; 240]), true).unwrap();
    let mut tape = Tape::default();
    let [a, b] = [0, 1].map(|source| tape.input(source));
    let apart = tape.op(Sub, &[a, b]);
    add(&mut session, problem, &[x, x], vec![(0..60).collect(), (60..120).collect()], &[], (&tape, &[apart]));
    for options in [known(), pseudo_inverse()] {
        let error = covariance(&mut session, problem, &options).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "rank-deficient");
        assert!(error.to_string().contains("more than 64 directions"), "{error}");
    }
}

/// Steps of 10⁻⁹ rad in f32 are lost in a unit quaternion's digits; the snapshot's are not.
#[test]
fn rotations_between_frames_leave_one_rotation_free() {
    for (name, mut session, tolerance) in sessions() {
        for count in [9u32, 80] {
            let mut random = Random::new(23);
            let unit = |random: &mut Random, n: usize| {
                let x: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
                let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                x.iter().map(|x| x / length).collect::<Vec<f64>>()
            };
            let problem = session.problem();
            let turns: Vec<f64> = (0..count).flat_map(|_| unit(&mut random, 4)).collect();
            let q = session.table_of(problem, "frame", vec![Shape::Quaternion], Reals::F64(&turns), true).unwrap();
            let measured: Vec<f64> = (0..3 * count).flat_map(|_| unit(&mut random, 4)).collect();
            let mut tape = Tape::default();
            let [a, b, m] = [0, 1, 2].map(|source| tape.input(source));
            let back = tape.op(QuatConjugate, &[a]);
            let between = tape.op(QuatMul, &[back, b]);
            let apart = tape.op(Sub, &[between, m]);
            let indices =
                vec![(0..3 * count).map(|k| k % count).collect(), (0..3 * count).map(|k| (k % count + 1 + k / count) % count).collect()];
            add(&mut session, problem, &[q, q], indices, &[(4, &measured)], (&tape, &[apart]));
            let made = covariance(&mut session, problem, &pseudo_inverse()).unwrap();
            assert_eq!(made.summary.deficiency, 3, "{name}, {count}: {:?}", made.summary);
            session.fix_table(problem, q, Some(&[0]), None).unwrap();
            let made = covariance(&mut session, problem, &known()).unwrap();
            let which = all(&[(q, count)]);
            let tangent = blocks(&mut session, &made, &which, None, "covariance");
            let lifted = blocks(&mut session, &made, &which, None, "lifted covariance");
            // P Σ Pᵀ, with P by differences.
            let values = read(&mut session, problem, q);
            let expected: Vec<f64> = (0..count as usize)
                .flat_map(|k| {
                    let x = &values[4 * k..4 * k + 4];
                    let half = |v: [f64; 3]| [v[0] / 2.0, v[1] / 2.0, v[2] / 2.0, 0.0];
                    let p: Vec<[f64; 4]> =
                        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().map(|v| times(x, half(v))).collect();
                    let sigma = &tangent[9 * k..9 * k + 9];
                    let entry = |r: usize, c: usize| (0..9).map(|at| p[at / 3][r] * sigma[at] * p[at % 3][c]).sum::<f64>();
                    (0..16).map(|at| entry(at / 4, at % 4)).collect::<Vec<f64>>()
                })
                .collect();
            close(name, &lifted, &expected, 10.0 * tolerance);
            let errors = blocks(&mut session, &made, &which, None, "lifted errors");
            let roots: Vec<f64> = (0..count as usize * 4).map(|k| expected[16 * (k / 4) + 5 * (k % 4)].max(0.0).sqrt()).collect();
            close(name, &errors, &roots, 10.0 * tolerance);
        }
    }
}

/// The product of two quaternions x, y, z, w.
fn times(a: &[f64], b: [f64; 4]) -> [f64; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

#[test]
fn sums_over_rows_have_a_covariance() {
    for (name, mut session, tolerance) in sessions() {
        let mut random = Random::new(31);
        let problem = session.problem();
        let start: Vec<f64> = (0..12).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect();
        let x = session.table(problem, "x", 2, Reals::F64(&start), true).unwrap();
        // Rows of 1, 2, 3, … entries: r = Σ w x.
        let offsets: Vec<u32> = (0..=9u32).map(|row| row * (row + 1) / 2).collect();
        let entries = offsets[9] as usize;
        let indices: Vec<u32> = (0..entries as u32).map(|k| k * 5 % 6).collect();
        let weights: Vec<f64> = (0..entries).map(|_| f64::from(random.between(0.5, 1.5) as f32)).collect();
        let mut tape = Tape::default();
        let [q, w] = [0, 1].map(|source| tape.input(source));
        let weighed = tape.op(Mul, &[q, w]);
        let sum = tape.op(SumOver, &[weighed]);
        let plain = TermSpec {
            name: "sums".into(),
            count: 9,
            indices: Vec::new(),
            slots: Vec::new(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[sum],
        };
        let spec = SummedSpec {
            plain,
            offsets: offsets.clone(),
            slots: vec![RaggedSlot { table: x, indices: indices.clone() }],
            columns: vec![EntryColumn { name: "w".into(), values: Reals::F64(&weights) }],
        };
        session.summed_term(problem, spec).unwrap();
        let mut matrix = vec![vec![0.0; 12]; 12];
        for row in 0..9 {
            let mut factors = [0.0; 6];
            (offsets[row]..offsets[row + 1]).for_each(|k| factors[indices[k as usize] as usize] += weights[k as usize]);
            for (a, b, c) in (0..6).flat_map(|a| (0..6).flat_map(move |b| [(a, b, 0), (a, b, 1)])) {
                matrix[2 * a + c][2 * b + c] += factors[a] * factors[b];
            }
        }
        let made = covariance(&mut session, problem, &known()).unwrap();
        let joint = blocks(&mut session, &made, &all(&[(x, 6)]), None, "joint");
        close(name, &joint, &crate::covariance::net::inverse(&matrix, &[true; 12]).concat(), 100.0 * tolerance);
        session.fix_table(problem, x, Some(&[2]), None).unwrap();
        let kept: Vec<bool> = (0..12).map(|k| k / 2 != 2).collect();
        let made = covariance(&mut session, problem, &known()).unwrap();
        let joint = blocks(&mut session, &made, &all(&[(x, 6)]), None, "joint");
        close(name, &joint, &crate::covariance::net::inverse(&matrix, &kept).concat(), 100.0 * tolerance);
    }
}
