// Rows of queries as tensor cores multiply them nearly to f32's precision: q·r′ = q₁·r′₁ + q₁·r′₂ + q₂·r′₁ + O(2⁻²⁰)|q||r′|, where x₁ is the
// leading 11 bits of x, which TF32 keeps, and x₂ = x − x₁. So a row of queries is q₁, q₁, q₂, and one of vectors r′₁, r′₂, r′₁: one product,
// three times as deep (Markidis et al., "NVIDIA tensor core programmability, performance & precision", 2018, section V).

#import functions/bits

struct Args {
    // Queries.
    queries: u32,
    // Components of a point.
    dimensions: u32,
    // Numbers from row to row, three times as many at least.
    stride: u32,
}

@group(0) @binding(1) var<storage, read> queries: array<real>;
@group(0) @binding(5) var<storage, read_write> rows: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    let dimensions = params.args.dimensions;
    let query = place / dimensions;
    if (query >= params.args.queries) {
        return;
    }
    let value = queries[place];
    let leading = leading_eleven_bits(value);
    let first = query * params.args.stride + place % dimensions;
    rows[first] = leading;
    rows[first + dimensions] = leading;
    rows[first + 2u * dimensions] = value - leading;
}
