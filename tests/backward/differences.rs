//! Everything that a solution may depend on, one number at a time.

use super::support::scene::{Numbers, POINTS, Scene, With, scene};
use super::support::*;
use super::{backward, close, of_table, of_term, sessions, slope, tight};
use leastwise::device::Precision;
use leastwise::problem::{Reals, Weight};
use leastwise::session::{BackwardOptions, Gradients, Session};

const SEED: u64 = 12;
const WITH: With = With { bounds: true, fixed: true, rotations: true, energy: true, sums: false };

/// What is fixed near its targets: far from them it would make most of the cost, and leave no digits for the rest.
fn near(session: &mut Session, with: With) -> Scene {
    let own = scene(session, &Numbers::new(SEED), with);
    session.write_table(own.problem, own.points, Reals::F64(&[0.3, -0.4, 0.1, 0.5, -0.5, 0.6]), Some(&[2, 5, 17])).unwrap();
    own
}

/// A linear function of all variables: its cotangents.
fn cotangents(session: &mut Session, scene: &Scene) -> Vec<(u32, Vec<f64>)> {
    let mut random = Random::new(77);
    let tables = scene.tables.clone();
    tables
        .into_iter()
        .map(|table| (table, read(session, scene.problem, table).iter().map(|_| random.between(-1.0, 1.0)).collect()))
        .collect()
}

fn value(session: &mut Session, scene: &Scene, cotangents: &[(u32, Vec<f64>)]) -> f64 {
    solve(session, scene.problem, &tight());
    cotangents.iter().map(|(table, v)| read(session, scene.problem, *table).iter().zip(v).map(|(x, v)| x * v).sum::<f64>()).sum()
}

/// What can be changed: how, and where its gradient is.
struct Dial {
    name: &'static str,
    values: Vec<f64>,
    /// Those that are tried.
    tried: Vec<usize>,
    set: fn(&mut Session, &Scene, &[f64]),
    gradient: fn(&Gradients, &Scene) -> Vec<f64>,
}

fn dials(numbers: &Numbers, session: &mut Session, scene: &Scene) -> Vec<Dial> {
    let some = |len: usize| (0..len).step_by((len / 7).max(1)).collect::<Vec<usize>>();
    let all = |len: usize| (0..len).collect::<Vec<usize>>();
    let (from, to) = numbers.arrows.split_at(numbers.arrows.len() / 2);
    let points = read(session, scene.problem, scene.points);
    // Two points are fixed, and one component of another.
    let fixed = vec![4, 5, 11, 34, 35];
    // Points that the box holds, by what a gradient says of them.
    vec![
        Dial {
            name: "rest",
            values: numbers.rest.clone(),
            tried: some(numbers.rest.len()),
            set: |session, scene, values| session.set_column(scene.problem, scene.springs, 0, Reals::F64(values)).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.springs, Some(0)),
        },
        Dial {
            name: "weights of springs",
            values: numbers.weights.clone(),
            tried: some(numbers.weights.len()),
            set: |session, scene, values| session.set_weight(scene.problem, scene.springs, Weight::Each(Reals::F64(values))).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.springs, None),
        },
        Dial {
            name: "targets",
            values: numbers.targets.clone(),
            tried: some(numbers.targets.len()),
            set: |session, scene, values| session.set_column(scene.problem, scene.pulls, 0, Reals::F64(values)).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.pulls, Some(0)),
        },
        Dial {
            name: "the weight of pulls",
            values: vec![0.3],
            tried: vec![0],
            set: |session, scene, values| session.set_weight(scene.problem, scene.pulls, Weight::Shared(values[0])).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.pulls, None),
        },
        Dial {
            name: "the centre, a constant",
            values: vec![0.25, -0.5],
            tried: all(2),
            set: |session, scene, values| session.write_table(scene.problem, scene.centre, Reals::F64(values), None).unwrap(),
            gradient: |gradients, scene| of_table(gradients, scene.centre),
        },
        Dial {
            name: "from",
            values: from.to_vec(),
            tried: some(from.len()),
            set: |session, scene, values| session.set_column(scene.problem, scene.turns.unwrap()[1], 0, Reals::F64(values)).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.turns.unwrap()[1], Some(0)),
        },
        Dial {
            name: "to",
            values: to.to_vec(),
            tried: some(to.len()),
            set: |session, scene, values| session.set_column(scene.problem, scene.turns.unwrap()[1], 1, Reals::F64(values)).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.turns.unwrap()[1], Some(1)),
        },
        Dial {
            name: "the weight of wells",
            values: vec![0.2],
            tried: vec![0],
            set: |session, scene, values| session.set_weight(scene.problem, scene.wells.unwrap(), Weight::Shared(values[0])).unwrap(),
            gradient: |gradients, scene| of_term(gradients, scene.wells.unwrap(), None),
        },
        Dial {
            name: "what is fixed",
            values: points.clone(),
            tried: fixed,
            set: |session, scene, values| session.write_table(scene.problem, scene.points, Reals::F64(values), None).unwrap(),
            gradient: |gradients, scene| of_table(gradients, scene.points),
        },
    ]
}

#[test]
fn gradients_are_differences_of_whole_solves() {
    let numbers = Numbers::new(SEED);
    let mut expected: Vec<(&str, Vec<f64>, Vec<f64>)> = Vec::new();
    for (name, mut session, tolerance) in sessions() {
        let own = near(&mut session, WITH);
        let cotangents = cotangents(&mut session, &own);
        value(&mut session, &own, &cotangents);
        let given: Vec<(u32, &[f64])> = cotangents.iter().map(|(table, v)| (*table, &v[..])).collect();
        let gradients = backward(&mut session, own.problem, &given, false, BackwardOptions::default()).unwrap();
        assert_eq!(gradients.deficiency, 0, "{name}");
        assert!(gradients.distance < if name.contains("f64") { 1e-6 } else { 1e-2 }, "{name}: {}", gradients.distance);
        // Five are fixed, and some are held by the box.
        let held = 2 * POINTS + 18 - gradients.unknowns;
        assert!((10..50).contains(&held), "{name}: {held}");
        let dials = dials(&numbers, &mut session, &own);
        if expected.is_empty() {
            for dial in &dials {
                let found = (dial.gradient)(&gradients, &own);
                let found: Vec<f64> = dial.tried.iter().map(|&place| found[place]).collect();
                let start = read(&mut session, own.problem, own.points);
                let differences = dial.tried.iter().map(|&place| {
                    slope(|by| {
                        let mut values = dial.values.clone();
                        values[place] += by;
                        (dial.set)(&mut session, &own, &values);
                        value(&mut session, &own, &cotangents)
                    })
                });
                let differences: Vec<f64> = differences.collect();
                close(&format!("{name}, {}", dial.name), &found, &differences, 2e-3);
                expected.push((dial.name, (dial.gradient)(&gradients, &own), differences));
                (dial.set)(&mut session, &own, &dial.values);
                session.write_table(own.problem, own.points, Reals::F64(&start), None).unwrap();
                value(&mut session, &own, &cotangents);
            }
        } else {
            // The same function of the same solution: no differences of f32.
            for (dial, (_, found, _)) in dials.iter().zip(&expected) {
                close(&format!("{name}, {}", dial.name), &(dial.gradient)(&gradients, &own), found, tolerance);
            }
        }
        session.free_problem(own.problem);
    }
}

/// The limits that hold points: as if these were fixed there.
#[test]
fn limits_that_hold_are_what_is_fixed() {
    let mut session = cpu(Precision::F64);
    let own = near(&mut session, With { bounds: true, ..With::default() });
    let cotangents = cotangents(&mut session, &own);
    value(&mut session, &own, &cotangents);
    let given: Vec<(u32, &[f64])> = cotangents.iter().map(|(table, v)| (*table, &v[..])).collect();
    let gradients = backward(&mut session, own.problem, &given, false, BackwardOptions::default()).unwrap();
    let found = of_table(&gradients, own.points);
    let x = read(&mut session, own.problem, own.points);
    let sides = [[0.9, 2.0], [-0.9, -2.0]].map(|limits| (0..x.len()).filter(|&k| x[k] == limits[k % 2]).map(|k| found[k]).sum::<f64>());
    assert!(sides.iter().all(|side| *side != 0.0), "points are held at either side: {sides:?}");
    let mut moved = |low: f64, high: f64| {
        let (lower, upper) = ([-0.9 + low, -2.0 + low], [0.9 + high, 2.0 + high]);
        session.bound_table(own.problem, own.points, Some(Reals::F64(&lower)), Some(Reals::F64(&upper))).unwrap();
        value(&mut session, &own, &cotangents)
    };
    let expected = [slope(|by| moved(0.0, by)), slope(|by| moved(by, 0.0))];
    close("limits", &sides, &expected, 2e-3);
}

/// The same with a factor that is sparse; and cotangents of tangent spaces.
#[test]
fn many_unknowns_and_tangents() {
    let mut session = cpu(Precision::F64);
    let own = near(&mut session, WITH);
    let cotangents = cotangents(&mut session, &own);
    value(&mut session, &own, &cotangents);
    let given: Vec<(u32, &[f64])> = cotangents.iter().map(|(table, v)| (*table, &v[..])).collect();
    let dense = backward(&mut session, own.problem, &given, false, BackwardOptions::default()).unwrap();
    assert_eq!(dense.method, "dense");
    // Others that nothing joins to these make the matrix a large one.
    let many = vec![0.5; 150];
    let other = session.table(own.problem, "others", 1, Reals::F64(&many), true).unwrap();
    let mut tape = Tape::default();
    let x = tape.input(0);
    let spec = leastwise::problem::TermSpec {
        name: "others".into(),
        count: 150,
        indices: vec![(0..150).collect()],
        slots: vec![leastwise::problem::Slot { table: other, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[x],
    };
    session.term(own.problem, spec).unwrap();
    solve(&mut session, own.problem, &tight());
    let sparse = backward(&mut session, own.problem, &given, false, BackwardOptions::default()).unwrap();
    assert_eq!(sparse.method, "sparse");
    close("sparse", &of_term(&sparse, own.springs, Some(0)), &of_term(&dense, own.springs, Some(0)), 1e-5);
    close("sparse", &of_table(&sparse, own.points), &of_table(&dense, own.points), 1e-5);

    // Of points a degree of freedom is a scalar.
    let points: Vec<(u32, &[f64])> = given[..1].to_vec();
    let [a, b] = [false, true].map(|tangent| backward(&mut session, own.problem, &points, tangent, BackwardOptions::default()).unwrap());
    assert_eq!(a.values, b.values);
    // Of a rotation it is a turn about its own axes: x' = q·exp(δ/2).
    let turns = own.turns.unwrap()[0];
    let q = read(&mut session, own.problem, turns);
    let v = &cotangents.iter().find(|known| known.0 == turns).unwrap().1;
    let by_turns: Vec<f64> = q
        .chunks(4)
        .zip(v.chunks(4))
        .flat_map(|(q, v)| {
            let [x, y, z, w] = [q[0], q[1], q[2], q[3]];
            let columns = [[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]];
            columns.map(|column| 0.5 * column.iter().zip(v).map(|(a, b)| a * b).sum::<f64>())
        })
        .collect();
    let lifted = backward(&mut session, own.problem, &[(turns, v)], false, BackwardOptions::default()).unwrap();
    let own_frame = backward(&mut session, own.problem, &[(turns, &by_turns)], true, BackwardOptions::default()).unwrap();
    close("turns", &own_frame.values, &lifted.values, 1e-12);
}
