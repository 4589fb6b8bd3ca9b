// The line search: whether the trial point x ⊕ αd is taken, else the next α. One workgroup.
//
// φ(α) is the cost along the direction. Taken is what satisfies the strong Wolfe conditions
//     φ(α) ≤ φ(0) + 10⁻⁴ α φ′(0),  |φ′(α)| ≤ σ |φ′(0)|
// (Nocedal & Wright, Numerical Optimization, 2nd ed. 2006, algorithms 3.5 and 3.6, with cubic interpolation), or, where
// rounding hides the difference of costs, the approximate ones of Hager & Zhang (SIAM J. Optim. 16, 2005), which look at slopes
// alone: σ φ′(0) ≤ φ′(α) ≤ (2·10⁻⁴ − 1) φ′(0). Within limits the path x ⊕ αd is bent by projection, so the first condition is
// gᵀs's (Bertsekas 1982), and of the second only that the path does not still go downhill steeply.
//
// LOW is the lowest α that may be taken so far, HIGH the other end of the interval; BRACKETED is 0 before there is one, and 2
// while HIGH lies where nothing was differentiated: the cost there is not finite, or far too high (`changed`). A search that comes to nothing begins anew along −g, then fails.

#import shared/reduce
#import shared/total_of
#import state/solver

struct Args {
    // Partials of a kind.
    partial_count: u32,
    // Elements between two kinds of partials.
    distance: u32,
    // 1 if there are limits.
    limited: u32,
    // 0 L-BFGS, 1 conjugate gradients, 2 gradient descent, 3 Adam, which takes whatever is finite.
    rule: u32,
    // Pairs that are kept at most.
    pairs: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

const adam: u32 = 3u;
const most_trials: real = 24.0;
const patient_trials: real = 10.0;
const roundings: real = 16.0;

fn begin_search() {
    state[TRIALS] = 0.0;
    state[LOW] = 0.0;
    state[LOW_CHANGE] = 0.0;
    state[LOW_SLOPE] = 0.0;
    state[HIGH] = 0.0;
    state[BRACKETED] = 0.0;
    state[INSISTENT] = 0.0;
}

// Along −g, if that was not the direction.
fn give_up(rule: u32) {
    if (rule != adam && state[PAIRS] > 0.0) {
        state[PAIRS] = 0.0;
        state[LENGTH_BEFORE] = 0.0;
        state[TURNING] = 1.0;
        begin_search();
    } else {
        state[FAILED] = 1.0;
        state[LENGTH] = 0.0;
    }
}

fn take(length: real, change: real, initial: real, promised: real, kept: real, rule: u32) {
    state[ACCEPTED] = 1.0;
    state[TAKEN] += 1.0;
    state[LINEARIZED] = 1.0;
    state[COST] = state[TRIAL_COST];
    state[CHANGE_KNOWN] = 0.0;
    state[LENGTH_BEFORE] = length;
    state[SLOPE_BEFORE] = initial;
    state[TURNING] = 1.0;
    if (rule == adam) {
        state[PAIRS] = 1.0;
        state[DECAY_1] *= state[BETA_1];
        state[DECAY_2] *= state[BETA_2];
        state[LENGTH] = 1.0;
    } else {
        // yᵀs, which the second Wolfe condition makes positive.
        let curvature = kept - promised;
        let keeps = is_finite(curvature) && curvature > 1e-4 * abs(promised);
        state[KEPT] = select(real(0.0), real(1.0), keeps);
        let most = real(params.args.pairs);
        if (keeps) {
            let next = state[NEWEST] + 1.0;
            state[NEWEST] = select(next, real(0.0), next >= most);
            state[PAIRS] = min(state[PAIRS] + 1.0, most);
        } else if (rule != 0u) {
            state[PAIRS] = 0.0;
        }
    }
    begin_search();
}

// Where between LOW and HIGH the least is to be expected, as a part of the way.
fn between(noise: real) -> real {
    if (state[BRACKETED] == 2.0) {
        return 0.1;
    }
    if (u32(state[TRIALS]) % 4u == 0u) {
        return 0.5;
    }
    let width = state[HIGH] - state[LOW];
    let a = state[LOW_SLOPE] * width;
    let b = state[HIGH_SLOPE] * width;
    let rise = state[HIGH_CHANGE] - state[LOW_CHANGE];
    var part: real = 0.5;
    if (abs(rise) <= noise) {
        if (a < 0.0 && b > 0.0) {
            part = a / (a - b);
        }
    } else {
        let d = a + b - 3.0 * rise;
        let root = d * d - a * b;
        if (root >= 0.0) {
            let r = sqrt(root);
            let below = b - a + 2.0 * r;
            if (below != 0.0) {
                part = 1.0 - (b + r - d) / below;
            }
        }
    }
    if (!is_finite(part)) {
        part = 0.5;
    }
    return clamp(part, real(0.1), real(0.9));
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let slope = total_of(lane, 0u, params.args.partial_count, params.args.distance);
    let promised = total_of(lane, 1u, params.args.partial_count, params.args.distance);
    let kept = total_of(lane, 2u, params.args.partial_count, params.args.distance);
    let squared = total_of(lane, 3u, params.args.partial_count, params.args.distance);
    var largest: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        largest = max(largest, partials[4u * params.args.distance + i]);
    }
    let top = group_max(lane, largest);
    if (lane != 0u) {
        return;
    }
    let bounded = params.args.limited != 0u;
    let rule = params.args.rule;
    state[ACCEPTED] = 0.0;
    state[KEPT] = 0.0;
    state[GAIN] = 0.0;
    state[STEP_NORM] = sqrt(squared);
    state[GRADIENT_MAX] = state[NEXT_GRADIENT_MAX];
    if (state[SETTING_OUT] != 0.0) {
        var seen = top;
        if (!is_finite(slope)) {
            seen = flagged();
        }
        state[SETTING_OUT] = 0.0;
        state[ACCEPTED] = 1.0;
        state[LINEARIZED] = 1.0;
        state[COST] = state[TRIAL_COST];
        state[CHANGE_KNOWN] = 0.0;
        state[PAIRS] = 0.0;
        state[NEWEST] = 0.0;
        state[LENGTH_BEFORE] = 0.0;
        state[LENGTH] = 1.0;
        state[DECAY_1] = state[BETA_1];
        state[DECAY_2] = state[BETA_2];
        state[GRADIENT_MAX] = seen;
        state[NEXT_GRADIENT_MAX] = seen;
        state[FAILED] = 0.0;
        state[TURNING] = 1.0;
        begin_search();
        return;
    }
    state[STEPS] += 1.0;
    state[TRIALS] += 1.0;
    state[INNER] = state[TRIALS];
    let length = state[LENGTH];
    let change = state[CHANGE];
    var initial = state[SLOPE];
    if (!bounded && length != 0.0) {
        initial = promised / length;
    }
    let usable = state[LINEARIZED] == 0.0 && is_finite(slope) && is_finite(promised) && is_finite(squared);
    if (usable && promised < 0.0) {
        state[GAIN] = clamp(change / promised, real(-10.0), real(10.0));
    }
    if (rule == adam) {
        if (usable) {
            state[NEXT_GRADIENT_MAX] = top;
            take(length, change, initial, promised, kept, rule);
        } else {
            state[LINEARIZED] = 0.0;
            state[LENGTH] = 0.5 * length;
            if (state[TRIALS] >= most_trials) {
                give_up(rule);
            }
        }
        return;
    }
    if (state[TRIALS] == 1.0) {
        state[LOW_SLOPE] = initial;
    }
    let noise = roundings * state[EPSILON] * abs(state[COST]);
    let hidden = abs(change) <= noise;
    let falls = promised < 0.0 && change <= 1e-4 * promised;
    var sigma: real = 0.9;
    if (rule == 1u) {
        sigma = 0.1;
    }
    let ends = slope >= sigma * initial;
    let level = slope <= -sigma * initial || bounded;
    let taken = usable
        && ((falls && ((ends && level) || state[TRIALS] >= patient_trials))
            || (hidden && initial < 0.0 && ends && slope <= -0.9998 * initial)
            || (state[INSISTENT] != 0.0 && (change < 0.0 || hidden)));
    if (taken) {
        state[NEXT_GRADIENT_MAX] = top;
        take(length, change, initial, promised, kept, rule);
        return;
    }
    state[LINEARIZED] = 0.0;
    if (state[INSISTENT] != 0.0 || (usable && !bounded && !(promised < 0.0)) || length == 0.0) {
        give_up(rule);
        return;
    }
    var next = length;
    let climbs = !usable || !(falls || hidden) || (!hidden && state[LOW] > 0.0 && change >= state[LOW_CHANGE]);
    if (climbs) {
        state[HIGH] = length;
        state[HIGH_CHANGE] = select(real(0.0), change, usable);
        state[HIGH_SLOPE] = select(real(0.0), slope, usable);
        state[BRACKETED] = select(real(2.0), real(1.0), usable);
    } else {
        let before = state[LOW];
        let before_slope = state[LOW_SLOPE];
        let turns = select(slope * (state[HIGH] - length) >= 0.0, slope >= 0.0, state[BRACKETED] == 0.0);
        if (turns) {
            state[HIGH] = before;
            state[HIGH_CHANGE] = state[LOW_CHANGE];
            state[HIGH_SLOPE] = before_slope;
            state[BRACKETED] = 1.0;
        }
        state[LOW] = length;
        state[LOW_CHANGE] = change;
        state[LOW_SLOPE] = slope;
        if (state[BRACKETED] == 0.0) {
            // Still downhill: farther, to where slopes say that it ends.
            next = 10.0 * length;
            if (slope > before_slope) {
                next = clamp(length + slope * (length - before) / (before_slope - slope), 2.0 * length, 10.0 * length);
            }
        }
    }
    if (state[BRACKETED] != 0.0) {
        let width = state[HIGH] - state[LOW];
        next = state[LOW] + between(noise) * width;
        let narrow = usable && abs(width) * state[STEP_NORM] <= state[EPSILON] * state[POINT_NORM] * length;
        if (narrow || state[TRIALS] >= most_trials) {
            if (state[LOW] > 0.0) {
                next = state[LOW];
                state[INSISTENT] = 1.0;
            } else {
                give_up(rule);
                return;
            }
        }
    } else if (state[TRIALS] >= most_trials) {
        // Downhill without end: what was reached is taken.
        next = state[LOW];
        state[INSISTENT] = 1.0;
    }
    state[LENGTH] = next;
}
