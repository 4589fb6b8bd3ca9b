//! Twins of the shaders over all unknowns of methods that solve no linear system: `stretch`, `changed`, `slopes`, `remember`,
//! `inner_products`, `descend`, `adam`.

mod two_loop;

pub use two_loop::two_loop;

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::reduce::{Lanes, MAX_GROUP, group_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// The pair s, y of a step that was taken, g′ instead of g, and what may move from there.
pub fn lbfgs_push<R: Real>(work: &Workgroups, args: kernels::descent::LbfgsPush, bindings: kernels::descent::LbfgsPushSlices<R>) {
    let state = bindings.state;
    if state[ACCEPTED as usize] == R::ZERO {
        return;
    }
    let [stride, pairs, bounded] = [args.distance, args.pairs, args.limited].map(|word| word as usize);
    let (step, trial_free, trial_gradient) = (bindings.step, bindings.trial_free, bindings.trial_gradient);
    let (mut gradient, mut free) = (Pieces::new(bindings.gradient), Pieces::new(bindings.free));
    let (keeps, newest) = (state[KEPT as usize] != R::ZERO, state[NEWEST as usize].to_f64() as usize);
    let (steps, changes) = bindings.history.split_at_mut(pairs * stride);
    let (mut steps, mut changes) = (Pieces::new(steps), Pieces::new(changes));
    let items = work.items();
    let tasks = threads::cut(items.clone()).map(|range| {
        let place = newest * stride + range.start..newest * stride + range.end;
        let pair = keeps.then(|| (steps.take(place.clone()), changes.take(place)));
        let free = (bounded != 0).then(|| free.take(range.clone()));
        (gradient.take(range.clone()), pair, free, range)
    });
    threads::each(tasks.collect(), items.len(), |(gradient, pair, free, range)| {
        let trial = &trial_gradient[range.clone()];
        if let Some((s, y)) = pair {
            s.copy_from_slice(&step[range.clone()]);
            y.iter_mut().zip(trial).zip(&*gradient).for_each(|((y, g), before)| *y = *g - *before);
        }
        gradient.copy_from_slice(trial);
        if let Some(free) = free {
            free.copy_from_slice(&trial_free[range]);
        }
    });
}

/// Partial sums of the products of the newest s, the newest y and g, or of all vectors, with all vectors.
pub fn inner_products<R: Real>(
    work: &Workgroups,
    args: kernels::descent::InnerProducts,
    bindings: kernels::descent::InnerProductsSlices<R>,
) {
    let state = bindings.state;
    if state[TURNING as usize] == R::ZERO {
        return;
    }
    let [all_runs, elements, stride, pairs, all_rows, masked] =
        [args.runs, args.elements, args.distance, args.pairs, args.all, args.masked].map(|word| word as usize);
    let (free, gradient, history) = (bindings.free, bindings.gradient, bindings.history);
    let (vectors, group_size) = (2 * pairs + 1, work.group_size as usize);
    let newest = state[NEWEST as usize].to_f64() as usize;
    let rows: Vec<usize> = if all_rows != 0 { (0..vectors).collect() } else { vec![newest, pairs + newest, 2 * pairs] };
    let vector = |number: usize| if number == 2 * pairs { gradient } else { &history[number * stride..] };
    let length = elements.div_ceil(all_runs * group_size) * group_size;
    let groups: Vec<usize> = work.groups.clone().map(|group| group as usize).filter(|group| group / all_runs < vectors).collect();
    let products = threads::map(groups.clone(), groups.len() * length * rows.len(), |group| {
        let (column, run) = (vector(group / all_runs), group % all_runs);
        let run = (run * length).min(elements)..((run + 1) * length).min(elements);
        let column = &column[run.clone()];
        let product = |&row: &usize| {
            let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
            let rounds = vector(row)[run.clone()].chunks(group_size).zip(column.chunks(group_size));
            for (round, (a, b)) in rounds.enumerate() {
                let start = run.start + round * group_size;
                for (i, ((lane, a), b)) in lanes.iter_mut().zip(a).zip(b).enumerate() {
                    if masked == 0 || free[start + i] != R::ZERO {
                        *lane += *a * *b;
                    }
                }
            }
            group_sum(&lanes, group_size)
        };
        rows.iter().map(product).collect::<Vec<R>>()
    });
    let written = bindings.products;
    for (group, products) in groups.into_iter().zip(products) {
        for (r, product) in products.into_iter().enumerate() {
            written[((group % all_runs) * rows.len() + r) * vectors + group / all_runs] = product;
        }
    }
}

/// d = Σ cⱼ bⱼ, where it may move.
pub fn descend<R: Real>(work: &Workgroups, args: kernels::descent::Descend, bindings: kernels::descent::DescendSlices<R>) {
    if bindings.state[TURNING as usize] == R::ZERO {
        return;
    }
    let [stride, pairs, masked] = [args.distance, args.pairs, args.masked].map(|word| word as usize);
    let (gradient, free, history) = (bindings.gradient, bindings.free, bindings.history);
    let (coefficients, mut direction) = (bindings.coefficients, Pieces::new(bindings.direction));
    let items = work.items();
    let tasks = threads::cut(items.clone()).map(|range| (direction.take(range.clone()), range));
    threads::each(tasks.collect(), items.len(), |(direction, range)| {
        direction.iter_mut().zip(&gradient[range.clone()]).for_each(|(d, g)| *d = coefficients[2 * pairs] * *g);
        for (j, c) in coefficients[..2 * pairs].iter().enumerate() {
            // A vector that is not used may hold anything.
            if *c != R::ZERO {
                let vector = &history[j * stride + range.start..j * stride + range.end];
                direction.iter_mut().zip(vector).for_each(|(d, b)| *d += *c * *b);
            }
        }
        if masked != 0 {
            direction.iter_mut().zip(&free[range]).filter(|(_, free)| **free == R::ZERO).for_each(|(d, _)| *d = R::ZERO);
        }
    });
}

/// Adam's direction and moments.
pub fn adam<R: Real>(work: &Workgroups, args: kernels::descent::Adam, bindings: kernels::descent::AdamSlices<R>) {
    let state = bindings.state;
    if state[TURNING as usize] == R::ZERO {
        return;
    }
    let [stride, masked] = [args.distance, args.masked].map(|word| word as usize);
    let (gradient, free) = (bindings.gradient, bindings.free);
    let (means, squares) = bindings.moments.split_at_mut(stride);
    let (mut means, mut squares) = (Pieces::new(means), Pieces::new(squares));
    let (mut direction, items) = (Pieces::new(bindings.direction), work.items());
    let [beta_1, beta_2, decay_1, decay_2, rate] = [BETA_1, BETA_2, DECAY_1, DECAY_2, LEARNING_RATE].map(|element| state[element as usize]);
    let starts = state[PAIRS as usize] == R::ZERO;
    let tasks = threads::cut(items.clone())
        .map(|range| (means.take(range.clone()), squares.take(range.clone()), direction.take(range.clone()), range));
    threads::each(tasks.collect(), items.len(), |(means, squares, direction, range)| {
        for (((mean, square), d), i) in means.iter_mut().zip(squares).zip(direction).zip(range) {
            if masked != 0 && free[i] == R::ZERO {
                (*mean, *square, *d) = (R::ZERO, R::ZERO, R::ZERO);
                continue;
            }
            // Before the first step they may hold anything.
            let (m, v) = if starts { (R::ZERO, R::ZERO) } else { (beta_1 * *mean, beta_2 * *square) };
            *mean = m + (R::ONE - beta_1) * gradient[i];
            *square = v + (R::ONE - beta_2) * gradient[i] * gradient[i];
            let (m, v) = (*mean / (R::ONE - decay_1), *square / (R::ONE - decay_2));
            *d = -rate * m / (v.sqrt() + R::from_f64(1e-8));
        }
    });
}
