// A clustering's scalars, which live on the device: kernels read and write them by number.

// 1 when an iteration found that nothing changes any more: kernels do nothing then.
const DONE: u32 = 0u;
// The mean of the points' squared distances to their anchors.
const ENERGY: u32 = 1u;
// How many labels the last iteration changed.
const CHANGED: u32 = 2u;
// Iterations in a row that changed next to nothing.
const STREAK: u32 = 3u;
// Iterations so far.
const ITERATION: u32 = 4u;
// T.
const TEMPERATURE: u32 = 5u;
// Factor of T from one iteration to the next.
const KEPT_HEAT: u32 = 6u;
// r: the learning rate.
const RATE: u32 = 7u;
// c: how far a component may move in a step.
const STEP_LIMIT: u32 = 8u;
// β.
const MOMENTUM: u32 = 9u;
// Greatest change of the energy in an iteration that counts as still.
const TOLERANCE: u32 = 10u;
// What the changed labels must be below in an iteration that counts as still.
const FEWEST_CHANGES: u32 = 11u;
// How many such it takes in a row.
const STREAK_NEEDED: u32 = 12u;
// How many points there are.
const POINTS: u32 = 13u;
// The part of a cluster's members that is left out at either end.
const TRIM: u32 = 14u;
// δ of Huber's weights.
const HUBER: u32 = 15u;
// Always 0: the guard of kernels that are not guarded.
const ALWAYS: u32 = 16u;
// Anchors that `merge` merged.
const MERGED: u32 = 17u;
// ε: half of how far the anchors of a pair are apart.
const NUDGE: u32 = 18u;
// How many iterations are remembered.
const HISTORY_LEN: u32 = 64u;
// Energy, changed labels and temperature of each, in a ring.
const HISTORY: u32 = 32u;
// Elements of the state buffer.
const STATE_LEN: u32 = 224u;
