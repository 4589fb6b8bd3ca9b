// Of kernels where several lanes have a row together, each every eighth of its components: even of few points there are then many
// workgroups, and all components of a row are on their way together.

const share: u32 = 8u;
// Rows that a workgroup's lanes have at a time.
const slots: u32 = (group_size + share - 1u) / share;

struct Rows {
    start: u32,
    end: u32,
}

// One of the runs that so many rows are cut into: whole rounds of so many.
fn rows_of(run: u32, runs: u32, rows: u32, round: u32) -> Rows {
    let length = (rows + runs * round - 1u) / (runs * round) * round;
    let start = min(run * length, rows);
    return Rows(start, min(start + length, rows));
}
