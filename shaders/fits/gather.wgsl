// Sums over fits: of each column, in two parts. Lanes add up every so many-th number, the first lane what they have, with compensation
// (Kahan 1965). One workgroup is one column.

struct Args {
    // Fits.
    fits: u32,
}

@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(8) var<storage, read_write> totals: array<real>;

var<workgroup> sums: array<real, group_size>;
var<workgroup> lows: array<real, group_size>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let column = group_index(group);
    if (column >= params.group_count) {
        return;
    }
    let first = column * params.args.fits;
    var sum: real = 0.0;
    var low: real = 0.0;
    for (var i = lane; i < params.args.fits; i += group_size) {
        let addend = columns[first + i] - low;
        let next = opaque(sum + addend);
        low = opaque(next - sum) - addend;
        sum = next;
    }
    sums[lane] = sum;
    lows[lane] = low;
    workgroupBarrier();
    if (lane == 0u) {
        for (var other = 1u; other < group_size; other++) {
            low += lows[other];
            let addend = sums[other] - low;
            let next = opaque(sum + addend);
            low = opaque(next - sum) - addend;
            sum = next;
        }
        totals[2u * column] = sum;
        totals[2u * column + 1u] = -low;
    }
}
