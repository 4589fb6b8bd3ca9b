// Put in front of every kernel, static and generated. The device adds two lines before this text:
//   alias real = f32;              (the CUDA f64 build says f64)
//   const group_size: u32 = 256u;  (a power of two, at most what the device allows)

struct Params {
    count: u32,       // items of this dispatch
    grid_width: u32,  // invocations in one row of the 2-D grid
    zero: u32,        // always 0 at run time: nothing can be folded through it
    group_count: u32, // workgroups of this dispatch
    @size(48) args: Args, // the kernel's own, which its text declares
}

@group(0) @binding(0) var<uniform> params: Params;

// Drivers reassociate and contract f32 arithmetic (WGSL lets them). What passes through here is opaque to them,
// so compensated sums stay exact.
fn opaque(x: real) -> real {
    return bitcast<real>(bitcast<u32>(x) ^ params.zero);
}

// WGSL may assume that NaN and infinity never occur, so `x == x` proves nothing: look at the bits.
fn is_finite(x: real) -> bool {
    return ((bitcast<u32>(x) ^ params.zero) & 0x7f800000u) != 0x7f800000u;
}

// What stands for a value that is not defined: a NaN by its bits, which is stored and never computed with.
fn flagged() -> real {
    return real(bitcast<f32>(0x7fc00000u ^ params.zero));
}

// The number of this invocation in the 2-D grid.
fn item(id: vec3<u32>) -> u32 {
    return id.y * params.grid_width + id.x;
}

// The number of this workgroup in the 2-D grid.
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * (params.grid_width / group_size) + group.x;
}
