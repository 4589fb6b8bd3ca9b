// The solver's scalars, which live on the device.
//
// Kernels read and write them by number; nothing has to come back for the next kernel to know α, λ or whether a
// step was accepted. One readback of this buffer a Levenberg–Marquardt step is all that the host sees.

// ½ Σ w ‖r‖² at the accepted point.
const COST: u32 = 0u;
// Cost at the trial point minus `COST`, summed without cancellation.
const CHANGE: u32 = 1u;
// λ: the step solves (JᵀWJ + λD) s = −g.
const DAMPING: u32 = 2u;
// ν: what λ is multiplied with at the next rejection.
const GROWTH: u32 = 3u;
// −`CHANGE` / `MODEL`.
const GAIN: u32 = 4u;
// The decrease that the quadratic model predicts.
const MODEL: u32 = 5u;
// max |gᵢ| at the accepted point, before the step.
const GRADIENT_MAX: u32 = 6u;
// ‖s‖.
const STEP_NORM: u32 = 7u;
// ‖x‖.
const POINT_NORM: u32 = 8u;
// 1 when the last step was accepted.
const ACCEPTED: u32 = 9u;
// 1 while r, J, g and the diagonal blocks belong to the accepted point.
const LINEARIZED: u32 = 10u;
// 1 when the inner solver is done: its kernels do nothing then.
const SOLVED: u32 = 11u;
// Steps accepted, of those in `STEPS`.
const TAKEN: u32 = 12u;
// Conjugate gradients' direction update.
const BETA: u32 = 13u;
// rᵀM⁻¹r.
const RZ: u32 = 14u;
// rᵀM⁻¹r before the first inner iteration.
const RZ_START: u32 = 15u;
// Inner iterations of this step.
const INNER: u32 = 16u;
// η: how well the linear system is to be solved.
const FORCING: u32 = 17u;
// Steps tried.
const STEPS: u32 = 18u;
// Always 0: the guard of kernels that are not guarded.
const ALWAYS: u32 = 19u;
// What the arithmetic resolves of 1.
const EPSILON: u32 = 20u;
// Where η may be: from here …
const FORCING_LEAST: u32 = 21u;
// … to here.
const FORCING_MOST: u32 = 22u;
// 1 when the last step says something about the model: its promise was more than rounding.
const TELLING: u32 = 23u;
// How many steps in a row may go uphill.
const WINDOW: u32 = 24u;
// How many did, since the best point.
const UPHILL: u32 = 25u;
// The reference cost minus `COST`: what steps may go up to.
const REFERENCE: u32 = 26u;
// The decrease that was promised since the reference.
const REFERENCE_MODEL: u32 = 27u;
// The highest cost since the best point minus `COST`: the next reference.
const CANDIDATE: u32 = 28u;
// The decrease that was promised since the candidate.
const CANDIDATE_MODEL: u32 = 29u;
// `COST` minus the lowest cost so far.
const ABOVE_BEST: u32 = 30u;
// 1 when the step that was accepted leaves the best point.
const LEAVING: u32 = 31u;
// a: the step is a·d + b·n, with d = −D⁻¹g and the Gauss–Newton step n.
const ALONG_STEEPEST: u32 = 32u;
// b, which for Gauss–Newton is the step length.
const ALONG_NEWTON: u32 = 33u;
// Δ of the trust region √(sᵀDs) ≤ Δ.
const RADIUS: u32 = 34u;
// √(sᵀDs).
const SCALED_NORM: u32 = 35u;
// dᵀDd.
const STEEPEST_SQUARED: u32 = 36u;
// nᵀDn.
const NEWTON_SQUARED: u32 = 37u;
// gᵀn.
const NEWTON_SLOPE: u32 = 38u;
// dᵀJᵀWJd.
const STEEPEST_CURVATURE: u32 = 39u;
// dᵀJᵀWJn.
const MIXED_CURVATURE: u32 = 40u;
// nᵀJᵀWJn.
const NEWTON_CURVATURE: u32 = 41u;
// λ that the last step was computed with, …
const DAMPING_BEFORE: u32 = 42u;
// … its Δ …
const RADIUS_BEFORE: u32 = 43u;
// … and its b.
const LENGTH_BEFORE: u32 = 44u;
// Components that were moved into their limits.
const MOVED: u32 = 45u;
// φ: the least part of the largest that an entry of D has been that it may be.
const FLOOR: u32 = 46u;
// 1 to go back to the point before the last step that was accepted.
const RETREAT: u32 = 48u;
// 1 when the first step goes farther than the values that it starts from say anything about.
const TOO_FAR: u32 = 47u;
// α: line searches try x ⊕ αd.
const LENGTH: u32 = 49u;
// φ′(0) = gᵀd.
const SLOPE: u32 = 50u;
// That of the last step that was taken.
const SLOPE_BEFORE: u32 = 51u;
// The cost where the residuals were differentiated last, minus `COST`.
const CHANGE_KNOWN: u32 = 52u;
// The cost at the trial point.
const TRIAL_COST: u32 = 53u;
// The lowest α of a search that may be taken, …
const LOW: u32 = 54u;
// … φ(α) − φ(0) …
const LOW_CHANGE: u32 = 55u;
// … and φ′(α) there.
const LOW_SLOPE: u32 = 56u;
// The other end of the interval …
const HIGH: u32 = 57u;
// … with φ(α) − φ(0) …
const HIGH_CHANGE: u32 = 58u;
// … and φ′(α).
const HIGH_SLOPE: u32 = 59u;
// 1 when there is an interval, 2 when the cost at its other end is not finite.
const BRACKETED: u32 = 60u;
// Points that the search has tried.
const TRIALS: u32 = 61u;
// 1 when the search is over and the lowest point is tried again.
const INSISTENT: u32 = 62u;
// 1 while the point itself is the trial point: nothing is known of it.
const SETTING_OUT: u32 = 63u;
// 1 when a direction is to be made.
const TURNING: u32 = 64u;
// 1 when the last step leaves a pair s, y.
const KEPT: u32 = 65u;
// Pairs in the history that count.
const PAIRS: u32 = 66u;
// The place of the newest one.
const NEWEST: u32 = 67u;
// 1 when a search along −g came to nothing.
const FAILED: u32 = 68u;
// max |gᵢ| at the accepted point.
const NEXT_GRADIENT_MAX: u32 = 69u;
// Adam's η, …
const LEARNING_RATE: u32 = 70u;
// … β₁ …
const BETA_1: u32 = 71u;
// … and β₂; …
const BETA_2: u32 = 72u;
// … β₁ᵗ …
const DECAY_1: u32 = 73u;
// … and β₂ᵗ.
const DECAY_2: u32 = 74u;
// What the arithmetic of preconditioners resolves of 1.
const INNER_EPSILON: u32 = 75u;
// 1 when r and J were made at the trial point of a line search.
const ANCHORED: u32 = 76u;
// λ after the last accepted step since an edit; 0 where none was.
const DAMPING_TAKEN: u32 = 77u;
// Δ after the last accepted step since an edit; 0 where none was.
const RADIUS_TAKEN: u32 = 78u;
// 1 when inner iterations are to end: the next test for their end says that the system is solved.
const HURRIED: u32 = 79u;
// Elements of the state buffer.
const STATE_LEN: u32 = 128u;
