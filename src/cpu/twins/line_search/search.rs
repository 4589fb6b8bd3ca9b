//! Twins of the shaders over the state of methods that solve no linear system: `line_search`, `two_loop`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::reduce::{clamp, larger, smaller, strided_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

pub const CONJUGATE_GRADIENTS: u32 = 1;
pub const GRADIENT_DESCENT: u32 = 2;
const ADAM: u32 = 3;
const MOST_TRIALS: f64 = 24.0;
const PATIENT_TRIALS: f64 = 10.0;
const ROUNDINGS: f64 = 16.0;

/// The state, by elements.
struct Search<'a, R> {
    state: &'a mut [R],
    rule: u32,
    /// Pairs that are kept at most.
    pairs: u32,
}

impl<R: Real> Search<'_, R> {
    fn at(&self, element: u32) -> R {
        self.state[element as usize]
    }

    fn is(&self, element: u32) -> bool {
        self.at(element) != R::ZERO
    }

    fn set(&mut self, element: u32, value: R) {
        self.state[element as usize] = value;
    }

    fn flag(&mut self, element: u32, value: bool) {
        self.set(element, if value { R::ONE } else { R::ZERO });
    }

    fn begin(&mut self) {
        [TRIALS, LOW, LOW_CHANGE, LOW_SLOPE, HIGH, BRACKETED, INSISTENT].into_iter().for_each(|element| self.set(element, R::ZERO));
    }

    /// Along −g, if that was not the direction.
    fn give_up(&mut self) {
        if self.rule != ADAM && self.at(PAIRS) > R::ZERO {
            self.set(PAIRS, R::ZERO);
            self.set(LENGTH_BEFORE, R::ZERO);
            self.set(TURNING, R::ONE);
            self.begin();
        } else {
            self.set(FAILED, R::ONE);
            self.set(LENGTH, R::ZERO);
        }
    }

    /// The trial point is the accepted one.
    fn arrive(&mut self) {
        self.set(ACCEPTED, R::ONE);
        self.set(LINEARIZED, R::ONE);
        self.set(COST, self.at(TRIAL_COST));
        self.set(CHANGE_KNOWN, R::ZERO);
        self.set(TURNING, R::ONE);
        self.begin();
    }

    fn set_out(&mut self, seen: R) {
        let zeros = [SETTING_OUT, PAIRS, NEWEST, LENGTH_BEFORE, FAILED];
        zeros.into_iter().for_each(|element| self.set(element, R::ZERO));
        self.set(LENGTH, R::ONE);
        self.set(DECAY_1, self.at(BETA_1));
        self.set(DECAY_2, self.at(BETA_2));
        self.set(GRADIENT_MAX, seen);
        self.set(NEXT_GRADIENT_MAX, seen);
        self.arrive();
    }

    fn take(&mut self, top: R, initial: R, promised: R, kept: R) {
        self.set(TAKEN, self.at(TAKEN) + R::ONE);
        self.set(NEXT_GRADIENT_MAX, top);
        self.set(LENGTH_BEFORE, self.at(LENGTH));
        self.set(SLOPE_BEFORE, initial);
        if self.rule == ADAM {
            self.set(PAIRS, R::ONE);
            self.set(DECAY_1, self.at(DECAY_1) * self.at(BETA_1));
            self.set(DECAY_2, self.at(DECAY_2) * self.at(BETA_2));
            self.set(LENGTH, R::ONE);
        } else {
            // yᵀs, which the second Wolfe condition makes positive.
            let curvature = kept - promised;
            let keeps = curvature.is_finite() && curvature > R::from_f64(1e-4) * promised.abs();
            self.flag(KEPT, keeps);
            let most = R::from_f64(f64::from(self.pairs));
            if keeps {
                let next = self.at(NEWEST) + R::ONE;
                self.set(NEWEST, if next >= most { R::ZERO } else { next });
                self.set(PAIRS, smaller(self.at(PAIRS) + R::ONE, most));
            } else if self.rule != 0 {
                self.set(PAIRS, R::ZERO);
            }
        }
        self.arrive();
    }

    /// Where between LOW and HIGH the least is to be expected, as a part of the way.
    fn between(&self, noise: R) -> R {
        let half = R::from_f64(0.5);
        if self.at(BRACKETED) == R::from_f64(2.0) {
            return R::from_f64(0.1);
        }
        if (self.at(TRIALS).to_f64() as u32).is_multiple_of(4) {
            return half;
        }
        let width = self.at(HIGH) - self.at(LOW);
        let (a, b) = (self.at(LOW_SLOPE) * width, self.at(HIGH_SLOPE) * width);
        let rise = self.at(HIGH_CHANGE) - self.at(LOW_CHANGE);
        let mut part = half;
        if rise.abs() <= noise {
            if a < R::ZERO && b > R::ZERO {
                part = a / (a - b);
            }
        } else {
            let d = a + b - R::from_f64(3.0) * rise;
            let root = d * d - a * b;
            if root >= R::ZERO {
                let r = root.sqrt();
                let below = b - a + R::from_f64(2.0) * r;
                if below != R::ZERO {
                    part = R::ONE - (b + r - d) / below;
                }
            }
        }
        clamp(if part.is_finite() { part } else { half }, R::from_f64(0.1), R::from_f64(0.9))
    }

    /// The next α after one that was not taken.
    fn shorten_or_lengthen(&mut self, change: R, slope: R, usable: bool, falls: bool, noise: R) {
        let length = self.at(LENGTH);
        let hidden = change.abs() <= noise;
        let mut next = length;
        let climbs = !usable || !(falls || hidden) || (!hidden && self.at(LOW) > R::ZERO && change >= self.at(LOW_CHANGE));
        if climbs {
            self.set(HIGH, length);
            self.set(HIGH_CHANGE, if usable { change } else { R::ZERO });
            self.set(HIGH_SLOPE, if usable { slope } else { R::ZERO });
            self.set(BRACKETED, R::from_f64(if usable { 1.0 } else { 2.0 }));
        } else {
            let (before, before_slope) = (self.at(LOW), self.at(LOW_SLOPE));
            let turns = if self.is(BRACKETED) { slope * (self.at(HIGH) - length) >= R::ZERO } else { slope >= R::ZERO };
            if turns {
                self.set(HIGH, before);
                self.set(HIGH_CHANGE, self.at(LOW_CHANGE));
                self.set(HIGH_SLOPE, before_slope);
                self.set(BRACKETED, R::ONE);
            }
            self.set(LOW, length);
            self.set(LOW_CHANGE, change);
            self.set(LOW_SLOPE, slope);
            if !self.is(BRACKETED) {
                // Still downhill: farther, to where slopes say that it ends.
                let most = R::from_f64(10.0) * length;
                let ends = length + slope * (length - before) / (before_slope - slope);
                next = if slope > before_slope { clamp(ends, R::from_f64(2.0) * length, most) } else { most };
            }
        }
        let is_long = self.at(TRIALS) >= R::from_f64(MOST_TRIALS);
        if self.is(BRACKETED) {
            let width = self.at(HIGH) - self.at(LOW);
            next = self.at(LOW) + self.between(noise) * width;
            let narrow = usable && width.abs() * self.at(STEP_NORM) <= self.at(EPSILON) * self.at(POINT_NORM) * length;
            if (narrow || is_long) && self.at(LOW) <= R::ZERO {
                return self.give_up();
            }
            if narrow || is_long {
                next = self.at(LOW);
                self.set(INSISTENT, R::ONE);
            }
        } else if is_long {
            // Downhill without end: what was reached is taken.
            next = self.at(LOW);
            self.set(INSISTENT, R::ONE);
        }
        self.set(LENGTH, next);
    }
}

/// Whether the trial point is taken, else the next α.
pub fn line_search<R: Real>(
    work: &Workgroups,
    args: kernels::line_search::LineSearch,
    bindings: kernels::line_search::LineSearchSlices<R>,
) {
    let (count, distance, bounded, rule, pairs) = (args.partial_count, args.distance, args.limited, args.rule, args.pairs);
    let (state, partials) = (bindings.state, bindings.partials);
    let [slope, promised, kept, squared] = [0, 1, 2, 3].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    let top = partials[4 * distance as usize..][..count as usize].iter().fold(R::ZERO, |top, &value| larger(top, value));
    let bounded = bounded != 0;
    let mut search = Search { state, rule, pairs };
    [ACCEPTED, KEPT, GAIN].into_iter().for_each(|element| search.set(element, R::ZERO));
    search.set(STEP_NORM, squared.sqrt());
    search.set(GRADIENT_MAX, search.at(NEXT_GRADIENT_MAX));
    if search.is(SETTING_OUT) {
        return search.set_out(if slope.is_finite() { top } else { R::from_f64(f64::NAN) });
    }
    search.set(STEPS, search.at(STEPS) + R::ONE);
    search.set(TRIALS, search.at(TRIALS) + R::ONE);
    search.set(INNER, search.at(TRIALS));
    let (length, change) = (search.at(LENGTH), search.at(CHANGE));
    let initial = if !bounded && length != R::ZERO { promised / length } else { search.at(SLOPE) };
    let usable = !search.is(LINEARIZED) && [slope, promised, squared].into_iter().all(R::is_finite);
    if usable && promised < R::ZERO {
        search.set(GAIN, clamp(change / promised, R::from_f64(-10.0), R::from_f64(10.0)));
    }
    if rule == ADAM {
        if usable {
            return search.take(top, initial, promised, kept);
        }
        search.set(LINEARIZED, R::ZERO);
        search.set(LENGTH, R::from_f64(0.5) * length);
        if search.at(TRIALS) >= R::from_f64(MOST_TRIALS) {
            search.give_up();
        }
        return;
    }
    if search.at(TRIALS) == R::ONE {
        search.set(LOW_SLOPE, initial);
    }
    let noise = R::from_f64(ROUNDINGS) * search.at(EPSILON) * search.at(COST).abs();
    let hidden = change.abs() <= noise;
    let falls = promised < R::ZERO && change <= R::from_f64(1e-4) * promised;
    let sigma = R::from_f64(if rule == CONJUGATE_GRADIENTS { 0.1 } else { 0.9 });
    let ends = slope >= sigma * initial;
    let level = slope <= -sigma * initial || bounded;
    let is_long = search.at(TRIALS) >= R::from_f64(PATIENT_TRIALS);
    let is_approximate = hidden && initial < R::ZERO && ends && slope <= R::from_f64(-0.9998) * initial;
    let is_insistent = search.is(INSISTENT);
    if usable && ((falls && ((ends && level) || is_long)) || is_approximate || (is_insistent && (change < R::ZERO || hidden))) {
        return search.take(top, initial, promised, kept);
    }
    search.set(LINEARIZED, R::ZERO);
    let uphill = usable && !bounded && !matches!(promised.partial_cmp(&R::ZERO), Some(std::cmp::Ordering::Less));
    if is_insistent || uphill || length == R::ZERO {
        return search.give_up();
    }
    search.shorten_or_lengthen(change, slope, usable, falls, noise);
}
