//! Which blocks there are, and what is added to which.

use crate::linear::random::{Sampled, sample};
use crate::support::Random;
use leastwise::base::task::Task;
use leastwise::linear::sparse::Ordering;

fn samples(random: &mut Random) -> Vec<(&'static str, Sampled)> {
    vec![
        ("one table, twice", sample(&[(40, 3)], &[(&[0, 0], 90, 25)], random)),
        ("one table, three times, few variables", sample(&[(4, 2)], &[(&[0, 0, 0], 50, 50)], random)),
        ("two tables", sample(&[(7, 9), (60, 3)], &[(&[0, 1], 200, 64)], random)),
        ("two tables, the other way round", sample(&[(60, 3), (7, 9)], &[(&[1, 0], 200, 64)], random)),
        ("a global variable", sample(&[(1, 2), (30, 1), (12, 4)], &[(&[1, 0, 2], 80, 30), (&[2, 2], 20, 7), (&[1], 30, 30)], random)),
        ("tables that nothing links", sample(&[(5, 2), (9, 3)], &[(&[0], 20, 20), (&[1], 30, 30)], random)),
    ]
}

#[test]
fn lists_put_the_matrix_together() {
    let mut random = Random::new(11);
    for (name, sampled) in samples(&mut random) {
        let n = sampled.pattern.scalars as usize;
        let gathered = sampled.gathered();
        let dense = Task::new(async |pace| gathered.dense(&vec![0.0; n], &pace).await).finish().unwrap();
        let largest = sampled.dense.iter().flatten().fold(0.0f64, |top, value| top.max(value.abs()));
        for i in 0..n {
            for j in 0..=i {
                let (found, wanted) = (dense[j * n + i], sampled.dense[i][j]);
                assert!((found - wanted).abs() <= 1e-13 * largest, "{name}: ({i}, {j}) is {found}, not {wanted}");
            }
        }
    }
}

#[test]
fn only_blocks_that_are_touched_are_stored_and_in_order() {
    let mut random = Random::new(12);
    for (name, sampled) in samples(&mut random) {
        for part in &sampled.pattern.parts {
            let [rows, columns] = [part.row, part.column].map(|table| &sampled.pattern.tables[table as usize]);
            for row in 0..rows.count {
                let found: Vec<u32> = part.row(row).map(|(_, column)| column).collect();
                assert!(found.is_sorted_by(|a, b| a < b), "{name}: row {row}: {found:?}");
                for column in 0..columns.count {
                    let touched =
                        sampled.dense[(rows.scalar + row * rows.width) as usize][(columns.scalar + column * columns.width) as usize] != 0.0;
                    let stored = found.contains(&column);
                    let is_below = (part.row, row) > (part.column, column);
                    assert_eq!(stored, touched && is_below, "{name}: block ({row}, {column})");
                }
            }
        }
    }
}

#[test]
fn products_are_those_of_the_whole_matrix_also_when_masked() {
    let mut random = Random::new(13);
    for (name, sampled) in samples(&mut random) {
        let n = sampled.pattern.scalars as usize;
        let x: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
        for masked in [false, true] {
            let mut matrix = sampled.gathered();
            let free: Vec<f64> = (0..n).map(|_| if masked && random.below(4) == 0 { 0.0 } else { 1.0 }).collect();
            Task::new(async |pace| matrix.mask(&free, &pace).await).finish().unwrap();
            let mut y = vec![0.0; n];
            matrix.multiply(&x, &mut y);
            let mut sliced = vec![0.0; n];
            Task::new(async |pace| matrix.multiply_in_slices(&x, &mut sliced, &pace).await).finish().unwrap();
            assert_eq!(sliced, y, "{name}, {masked}");
            for i in 0..n {
                let sum: f64 = (0..n).filter(|&j| free[j] != 0.0).map(|j| sampled.dense[i][j] * x[j]).sum();
                let wanted = if free[i] == 0.0 { x[i] } else { sum };
                assert!((y[i] - wanted).abs() <= 1e-12 * (1.0 + wanted.abs()), "{name}, {masked}: {i} is {}, not {wanted}", y[i]);
            }
        }
    }
}

#[test]
fn the_order_of_elimination_is_one_and_its_fill_is_at_least_the_matrix() {
    let mut random = Random::new(14);
    for (name, sampled) in &samples(&mut random) {
        let ordering = Task::new(|pace| async move { Ordering::new(&sampled.pattern, &pace).await }).finish().unwrap();
        let mut seen: Vec<u32> = ordering.forward.clone();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..sampled.pattern.variables()), "{name}");
        assert!(ordering.fill >= f64::from(sampled.pattern.scalars), "{name}: {}", ordering.fill);
    }
}
