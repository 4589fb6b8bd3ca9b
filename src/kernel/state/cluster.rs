//! A clustering's scalars, which live on the device: kernels read and write them by number.

numbered! {
    DONE = 0, "1 when an iteration found that nothing changes any more: kernels do nothing then.";
    ENERGY = 1, "The mean of the points' squared distances to their anchors.";
    CHANGED = 2, "How many labels the last iteration changed.";
    STREAK = 3, "Iterations in a row that changed next to nothing.";
    ITERATION = 4, "Iterations so far.";
    TEMPERATURE = 5, "T.";
    KEPT_HEAT = 6, "What an iteration multiplies T with.";
    RATE = 7, "r: the learning rate.";
    STEP_LIMIT = 8, "c: how far a component may move in a step.";
    MOMENTUM = 9, "β.";
    TOLERANCE = 10, "What the energy may change by in an iteration that counts as still.";
    FEWEST_CHANGES = 11, "What the changed labels must be below in an iteration that counts as still.";
    STREAK_NEEDED = 12, "How many such it takes in a row.";
    POINTS = 13, "How many points there are.";
    TRIM = 14, "The part of a cluster's members that is left out at either end.";
    HUBER = 15, "δ of Huber's weights.";
    ALWAYS = 16, "Always 0: the guard of kernels that are not guarded.";
    MERGED = 17, "Anchors that `merge` merged.";
    NUDGE = 18, "ε: half of how far the anchors of a pair are apart.";
    HISTORY_LEN = 64, "How many iterations are remembered.";
    HISTORY = 32, "Energy, changed labels and temperature of each, in a ring.";
}

/// Elements of the state buffer.
pub const STATE_LEN: u32 = HISTORY + 3 * HISTORY_LEN;
