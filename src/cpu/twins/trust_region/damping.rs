//! Twins of the rules of Levenberg–Marquardt and Gauss–Newton: `nielsen`, `step_length`; `reset_damping`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::reduce::*;
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// Levenberg–Marquardt's next damping (Nielsen 1999).
pub fn nielsen<R: Real>(_: &Workgroups, _: kernels::trust_region::Nielsen, bindings: kernels::trust_region::NielsenSlices<R>) {
    let state = bindings.state;
    let mut damping = state[DAMPING as usize];
    if state[TELLING as usize] == R::ZERO {
        // Nothing to be learnt, unless it is the damping that makes the promise so small.
        if damping > R::ONE {
            state[DAMPING as usize] = R::from_f64(0.1) * damping;
            state[GROWTH as usize] = R::from_f64(2.0);
        }
        return;
    }
    if state[ACCEPTED as usize] != R::ZERO {
        let t = state[GAIN as usize] + state[GAIN as usize] - R::ONE;
        damping = damping * larger(R::ONE / R::from_f64(3.0), R::ONE - t * t * t);
        state[GROWTH as usize] = R::from_f64(2.0);
    } else {
        damping = damping * state[GROWTH as usize];
        state[GROWTH as usize] = smaller(state[GROWTH as usize] + state[GROWTH as usize], R::from_f64(1e6));
        state[FLOOR as usize] = smaller(R::from_f64(3.0) * state[FLOOR as usize], R::ONE);
    }
    state[DAMPING as usize] = clamp(damping, R::from_f64(1e-20), R::from_f64(1e15));
    if state[ACCEPTED as usize] != R::ZERO {
        state[DAMPING_TAKEN as usize] = state[DAMPING as usize];
    }
}

/// Gauss–Newton's next step length.
pub fn step_length<R: Real>(_: &Workgroups, _: kernels::trust_region::StepLength, bindings: kernels::trust_region::StepLengthSlices<R>) {
    let state = bindings.state;
    let halved = larger(R::from_f64(0.5) * state[ALONG_NEWTON as usize], R::from_f64(1e-12));
    // A promise that rounding hides may be one of a step that was cut too often.
    let whole = state[ACCEPTED as usize] != R::ZERO || state[TELLING as usize] == R::ZERO;
    state[ALONG_NEWTON as usize] = if whole { R::ONE } else { halved };
}

/// What rest has made of the damping, the radius and the length is forgotten.
pub fn reset_damping<R: Real>(
    _: &Workgroups,
    _: kernels::trust_region::ResetDamping,
    bindings: kernels::trust_region::ResetDampingSlices<R>,
) {
    let state = bindings.state;
    if state[DAMPING_TAKEN as usize] > R::ZERO {
        state[DAMPING as usize] = smaller(state[DAMPING as usize], state[DAMPING_TAKEN as usize]);
        state[GROWTH as usize] = R::from_f64(2.0);
    }
    state[DAMPING as usize] = smaller(state[DAMPING as usize], R::from_f64(1e3));
    state[RADIUS as usize] = larger(larger(state[RADIUS as usize], state[RADIUS_TAKEN as usize]), R::from_f64(1e-2));
    state[DAMPING_TAKEN as usize] = R::ZERO;
    state[RADIUS_TAKEN as usize] = R::ZERO;
    state[ALONG_NEWTON as usize] = R::ONE;
}
