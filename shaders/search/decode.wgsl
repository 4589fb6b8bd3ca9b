// Codes become residuals r′, row by row, and what of a squared distance does not depend on the query: 2a·r′ + κ‖r′‖², a the anchor of the
// vector's list. A coordinate is low + spread·level, where a level is looked up by a few bits of the row, or low + a number of the row.
// Sixteen lanes have a row.
//
// Where a library multiplies them, a row is its leading bits, what is left, and its leading bits again (`split` says why).
//
// Numbers: κ, spreads, lows, levels. Table: of every coordinate its first bit, the mask of its bits, and where its levels begin.

#import functions/bits

struct Args {
    // Vectors of the block.
    vectors: u32,
    // Components of a point.
    dimensions: u32,
    // Number of the first vector in the table.
    first: u32,
    // First list whose anchor is there.
    first_list: u32,
    // Place of the vectors' lists in the table.
    lists: u32,
    // Place of the vectors' codes in the table.
    codes: u32,
    // Words of a code.
    code_words: u32,
    // Form of a code: 0 levels, 1 levels after a scale of half precision, 2 numbers of single precision, 3 numbers of half precision.
    form: u32,
    // Numbers from row to row where rows are split, else 0.
    split_stride: u32,
}

@group(0) @binding(1) var<storage, read> anchors: array<real>;
@group(0) @binding(2) var<storage, read> numbers: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> residuals: array<real>;
@group(0) @binding(8) var<storage, read_write> constants: array<real>;

const lanes_of_row: u32 = 16u;

var<workgroup> parts: array<real, group_size>;

// A positive or negative number of half precision; what is none becomes one beyond the largest.
fn from_half(bits: u32) -> real {
    let exponent = (bits >> 10u) & 31u;
    let significand = real(bits & 1023u) + select(real(0.0), real(1024.0), exponent > 0u);
    let size = significand * real(1u << max(exponent, 1u)) * (1.0 / 33554432.0);
    return select(size, -size, (bits & 0x8000u) != 0u);
}

// The bits of a code from one on, and some that are not asked for.
fn bits_at(code: u32, bit: u32) -> u32 {
    let word = code + bit / 32u;
    let shift = bit % 32u;
    var bits = table[word] >> shift;
    if (shift != 0u) {
        bits |= table[word + 1u] << (32u - shift);
    }
    return bits;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(global_invocation_id) id: vec3<u32>,
) {
    let row = item(id) / lanes_of_row;
    let dimensions = params.args.dimensions;
    var sum: real = 0.0;
    if (row < params.args.vectors) {
        let vector = params.args.first + row;
        let code = params.args.codes + vector * params.args.code_words;
        let anchor = (table[params.args.lists + vector] - params.args.first_list) * dimensions;
        var scale: real = 1.0;
        if (params.args.form == 1u) {
            scale = from_half(table[code] & 0xffffu);
        }
        for (var k = lane % lanes_of_row; k < dimensions; k += lanes_of_row) {
            let low = numbers[1u + dimensions + k];
            var value: real;
            if (params.args.form == 2u) {
                value = low + real(bitcast<f32>(table[code + k]));
            } else if (params.args.form == 3u) {
                value = low + from_half(bits_at(code, 16u * k) & 0xffffu);
            } else {
                let level = table[3u * k + 2u] + (bits_at(code, table[3u * k]) & table[3u * k + 1u]);
                value = scale * (low + numbers[1u + k] * numbers[1u + 2u * dimensions + level]);
            }
            if (params.args.split_stride != 0u) {
                let leading = leading_eleven_bits(value);
                let place = row * params.args.split_stride + k;
                residuals[place] = leading;
                residuals[place + dimensions] = value - leading;
                residuals[place + 2u * dimensions] = leading;
            } else {
                residuals[row * dimensions + k] = value;
            }
            sum += value * (2.0 * anchors[anchor + k] + numbers[0] * value);
        }
    }
    parts[lane] = sum;
    workgroupBarrier();
    if (lane % lanes_of_row == 0u && row < params.args.vectors) {
        var total = parts[lane];
        for (var k = 1u; k < lanes_of_row; k++) {
            total += parts[lane + k];
        }
        constants[row] = total;
    }
}
