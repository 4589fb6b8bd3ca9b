// Compaction of fits, last part: those of a run that are not at their end go to the next list, in their order. One item is one run.

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
    // Place of the next list in the table.
    next: u32,
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
    var place = params.args.next + table[params.args.counts + i];
    for (var k = begin; k < end; k++) {
        let fit = table[params.args.list + k];
        if (fields[params.args.states + fit] == 0.0) {
            table[place] = fit;
            place++;
        }
    }
}
