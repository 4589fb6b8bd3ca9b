//! Instances that name one variable twice, and variables that every instance names.

use crate::schedules::model::*;
use crate::support::*;
use leastwise::problem::Schedule;

/// Where an instance joins a variable to itself, its block of JᵀWJ is (Jₐ + J_b)ᵀ(Jₐ + J_b).
#[test]
fn a_variable_that_is_named_twice_has_the_sum_of_both_columns() {
    let seed = fresh_seed();
    println!("LEASTWISE_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for (count, longest) in [(3, 3), (77, 60), (700, 20)] {
        let mut model = Model::new(count, &mut random);
        for kind in [Kinds::Joined, Kinds::Rigid] {
            model.term(kind, longest, &mut random);
        }
        model.terms.retain(|given| !given.indices[0].is_empty());
        for Given { indices, .. } in &mut model.terms {
            let (firsts, seconds) = indices.split_at_mut(1);
            firsts[0].iter().zip(&mut seconds[0]).filter(|_| random.below(3) == 0).for_each(|(a, b)| *b = *a);
        }
        agree(&model, &mut random, |schedule| Some(vec![schedule; model.terms.len()]));
        // The same with pins, on the variables that are named twice as on others.
        for instance in 0..count {
            for component in 0..3 {
                if random.below(5) == 0 {
                    model.fixed.push((0, instance, component));
                }
            }
        }
        model.fixed.push((2, 0, 0));
        agree(&model, &mut random, |schedule| Some(vec![schedule; model.terms.len()]));
    }
}

/// They are summed along trees: one level, and two; beside variables that are not shared.
#[test]
fn variables_that_all_instances_share_are_summed_along_trees() {
    let mut random = Random::new(fresh_seed());
    for instances in [511, 513, 70_001] {
        let mut model = Model::new(40, &mut random);
        for (kind, column) in [(Kinds::Rigid, 1), (Kinds::Scaled, 1), (Kinds::Joined, 0)] {
            model.term(kind, 3, &mut random);
            let given = model.terms.last_mut().expect("just made");
            let columns = given.indices.len();
            given.indices = (0..columns).map(|_| (0..instances).map(|_| random.below(39) as u32).collect()).collect();
            // All but a few, here and there, share the last one.
            given.indices[column] = (0..instances).map(|_| if random.below(50) == 0 { random.below(39) as u32 } else { 39 }).collect();
        }
        agree(&model, &mut random, |schedule| {
            let had = matches!(schedule, Schedule::TwoPass | Schedule::Recompute);
            had.then(|| vec![schedule; 3])
        });
    }
}
