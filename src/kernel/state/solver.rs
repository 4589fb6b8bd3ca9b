//! The solver's scalars, which live on the device.
//!
//! Kernels read and write them by number; nothing has to come back for the next kernel to know α, λ or whether a
//! step was accepted. One readback of this buffer a Levenberg–Marquardt step is all that the host sees.

numbered! {
    COST = 0, "½ Σ w ‖r‖² at the accepted point.";
    CHANGE = 1, "Cost at the trial point minus `COST`, summed without cancellation.";
    DAMPING = 2, "λ: the step solves (JᵀWJ + λD) s = −g.";
    GROWTH = 3, "ν: what λ is multiplied with at the next rejection.";
    GAIN = 4, "−`CHANGE` / `MODEL`.";
    MODEL = 5, "The decrease that the quadratic model predicts.";
    GRADIENT_MAX = 6, "max |gᵢ| at the accepted point, before the step.";
    STEP_NORM = 7, "‖s‖.";
    POINT_NORM = 8, "‖x‖.";
    ACCEPTED = 9, "1 when the last step was accepted.";
    LINEARIZED = 10, "1 while r, J, g and the diagonal blocks belong to the accepted point.";
    SOLVED = 11, "1 when the inner solver is done: its kernels do nothing then.";
    TAKEN = 12, "Steps accepted, of those in `STEPS`.";
    BETA = 13, "Conjugate gradients' direction update.";
    RZ = 14, "rᵀM⁻¹r.";
    RZ_START = 15, "rᵀM⁻¹r before the first inner iteration.";
    INNER = 16, "Inner iterations of this step.";
    FORCING = 17, "η: how well the linear system is to be solved.";
    STEPS = 18, "Steps tried.";
    ALWAYS = 19, "Always 0: the guard of kernels that are not guarded.";
    EPSILON = 20, "What the arithmetic resolves of 1.";
    FORCING_LEAST = 21, "Where η may be: from here …";
    FORCING_MOST = 22, "… to here.";
    TELLING = 23, "1 when the last step says something about the model: its promise was more than rounding.";
    WINDOW = 24, "How many steps in a row may go uphill.";
    UPHILL = 25, "How many did, since the best point.";
    REFERENCE = 26, "The reference cost minus `COST`: what steps may go up to.";
    REFERENCE_MODEL = 27, "The decrease that was promised since the reference.";
    CANDIDATE = 28, "The highest cost since the best point minus `COST`: the next reference.";
    CANDIDATE_MODEL = 29, "The decrease that was promised since the candidate.";
    ABOVE_BEST = 30, "`COST` minus the lowest cost so far.";
    LEAVING = 31, "1 when the step that was accepted leaves the best point.";
    ALONG_STEEPEST = 32, "a: the step is a·d + b·n, with d = −D⁻¹g and the Gauss–Newton step n.";
    ALONG_NEWTON = 33, "b, which for Gauss–Newton is the step length.";
    RADIUS = 34, "Δ of the trust region √(sᵀDs) ≤ Δ.";
    SCALED_NORM = 35, "√(sᵀDs).";
    STEEPEST_SQUARED = 36, "dᵀDd.";
    NEWTON_SQUARED = 37, "nᵀDn.";
    NEWTON_SLOPE = 38, "gᵀn.";
    STEEPEST_CURVATURE = 39, "dᵀJᵀWJd.";
    MIXED_CURVATURE = 40, "dᵀJᵀWJn.";
    NEWTON_CURVATURE = 41, "nᵀJᵀWJn.";
    DAMPING_BEFORE = 42, "λ that the last step was computed with, …";
    RADIUS_BEFORE = 43, "… its Δ …";
    LENGTH_BEFORE = 44, "… and its b.";
    MOVED = 45, "Components that were moved into their limits.";
    FLOOR = 46, "φ: the least part of the largest that an entry of D has been that it may be.";
    RETREAT = 48, "1 to go back to the point before the last step that was accepted.";
    TOO_FAR = 47, "1 when the first step goes farther than the values that it starts from say anything about.";
    LENGTH = 49, "α: line searches try x ⊕ αd.";
    SLOPE = 50, "φ′(0) = gᵀd.";
    SLOPE_BEFORE = 51, "That of the last step that was taken.";
    CHANGE_KNOWN = 52, "The cost where the residuals were differentiated last, minus `COST`.";
    TRIAL_COST = 53, "The cost at the trial point.";
    LOW = 54, "The lowest α of a search that may be taken, …";
    LOW_CHANGE = 55, "… φ(α) − φ(0) …";
    LOW_SLOPE = 56, "… and φ′(α) there.";
    HIGH = 57, "The other end of the interval …";
    HIGH_CHANGE = 58, "… with φ(α) − φ(0) …";
    HIGH_SLOPE = 59, "… and φ′(α).";
    BRACKETED = 60, "1 when there is an interval, 2 when the cost at its other end is not finite.";
    TRIALS = 61, "Points that the search has tried.";
    INSISTENT = 62, "1 when the search is over and the lowest point is tried again.";
    SETTING_OUT = 63, "1 while the point itself is the trial point: nothing is known of it.";
    TURNING = 64, "1 when a direction is to be made.";
    KEPT = 65, "1 when the last step leaves a pair s, y.";
    PAIRS = 66, "Pairs in the history that count.";
    NEWEST = 67, "The place of the newest one.";
    FAILED = 68, "1 when a search along −g came to nothing.";
    NEXT_GRADIENT_MAX = 69, "max |gᵢ| at the accepted point.";
    LEARNING_RATE = 70, "Adam's η, …";
    BETA_1 = 71, "… β₁ …";
    BETA_2 = 72, "… and β₂; …";
    DECAY_1 = 73, "… β₁ᵗ …";
    DECAY_2 = 74, "… and β₂ᵗ.";
    INNER_EPSILON = 75, "What the arithmetic of preconditioners resolves of 1.";
    ANCHORED = 76, "1 when r and J were made at the trial point of a line search.";
}

/// Elements of the state buffer.
pub const STATE_LEN: u32 = 128;
