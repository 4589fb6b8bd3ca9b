// Compaction of fits, first part: how many fits of a run of the list are not at their end. One item is one run.

struct Args {
    // Fits of the list.
    fits: u32,
    // Fits of a run.
    run: u32,
    // Place of the list in the table.
    list: u32,
    // Place of the counts in the table.
    counts: u32,
    // Place of the fits' states among the fields.
    states: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(5) var<storage, read> fields: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let begin = i * params.args.run;
    let end = min(begin + params.args.run, params.args.fits);
    var count = 0u;
    for (var k = begin; k < end; k++) {
        if (fields[params.args.states + table[params.args.list + k]] == 0.0) {
            count++;
        }
    }
    table[params.args.counts + i] = count;
}
