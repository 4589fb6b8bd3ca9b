//! WGSL's own rules, kept by what the writer emits: each kernel is compiled for the CPU and played.

mod support;

use support::{play, written};
use wgsl_cuda::{Options, Parameter, TranslateError, WriteError, translate};

fn reals(words: &[u32]) -> Vec<f32> {
    words.iter().map(|word| f32::from_bits(*word)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A kernel of one invocation that computes `u32` expressions into `out`; `a` holds the given words.
fn integers(name: &str, a: &[u32], expressions: &[&str]) -> Vec<u32> {
    let stores: String = expressions.iter().enumerate().map(|(k, text)| format!("    out[{k}] = {text};\n")).collect();
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> a: array<u32>;\n@group(0) @binding(1) var<storage, read_write> out: array<u32>;\n\
         fn i(k: u32) -> i32 {{ return bitcast<i32>(a[k]); }}\nfn f(k: u32) -> f32 {{ return bitcast<f32>(a[k]); }}\n\
         @compute @workgroup_size(1)\nfn main() {{\n{stores}}}\n"
    );
    let kernel = written(&wgsl, Options::default());
    play(name, &kernel, [1, 1, 1], &[a.to_vec(), vec![0xdead_beef; expressions.len()]])[1].clone()
}

#[test]
fn integers_divide_shift_and_wrap_as_wgsl_says() {
    let least = i32::MIN as u32;
    let minus = |value: i32| value as u32;
    let a = [7, 0, minus(-7), least, minus(-1), 33, 0xffff_ffff, 3];
    let all: [(&str, u32); 22] = [
        ("a[0] / a[1]", 7),
        ("a[0] % a[1]", 0),
        ("bitcast<u32>(i(2) / i(7))", minus(-2)),
        ("bitcast<u32>(i(2) % i(7))", minus(-1)),
        ("bitcast<u32>(i(2) / i(1))", minus(-7)),
        ("bitcast<u32>(i(3) / i(4))", least),
        ("bitcast<u32>(i(3) % i(4))", 0),
        ("a[0] << a[5]", 14),
        ("bitcast<u32>(i(2) >> a[5])", minus(-4)),
        ("a[6] + a[0]", 6),
        ("bitcast<u32>(i(3) - i(0))", 0x7fff_fff9),
        ("bitcast<u32>(-i(3))", least),
        ("bitcast<u32>(abs(i(3)))", least),
        ("a[6] * a[0]", 0xffff_fff9),
        ("~a[0] & 0xffu", 0xf8),
        ("countOneBits(a[6]) + firstLeadingBit(a[5]) * 100u + firstTrailingBit(a[5])", 532),
        ("firstLeadingBit(a[1])", 0xffff_ffff),
        ("reverseBits(a[0])", 0xe000_0000),
        ("extractBits(a[6], 28u, 30u)", 0xf),
        ("bitcast<u32>(extractBits(i(4), 3u, 5u))", minus(-1)),
        ("insertBits(a[1], a[6], 4u, 8u)", 0xff0),
        ("select(a[0], a[5], i(2) < i(0)) + max(a[0], a[7]) + clamp(a[5], 1u, 9u)", 49),
    ];
    let (texts, expected): (Vec<&str>, Vec<u32>) = all.into_iter().unzip();
    let found = integers("integers", &a, &texts);
    for ((text, expected), found) in texts.iter().zip(&expected).zip(&found) {
        assert_eq!(found, expected, "{text}: {:x} instead of {:x}", found, expected);
    }
}

#[test]
fn conversions_go_to_the_nearest_integer_that_there_is() {
    let a = bits(&[3.7, -3.7, 1e20, -1e20, f32::NAN, 1.5, -0.0, 65504.0]);
    let all: [(&str, u32); 10] = [
        ("u32(f(0u))", 3),
        ("u32(f(1u))", 0),
        ("bitcast<u32>(i32(f(1u)))", -3i32 as u32),
        ("u32(f(2u))", u32::MAX),
        ("bitcast<u32>(i32(f(2u)))", i32::MAX as u32),
        ("bitcast<u32>(i32(f(3u)))", i32::MIN as u32),
        ("u32(f(4u))", 0),
        ("bitcast<u32>(f32(a[6]))", (2_147_483_648.0f32).to_bits()),
        ("pack2x16float(vec2<f32>(f(5u), f(7u)))", 0x7bff_3e00),
        ("bitcast<u32>(unpack2x16float(0x3e00c000u).y + unpack2x16float(0x3e00c000u).x)", (-0.5f32).to_bits()),
    ];
    let (texts, expected): (Vec<&str>, Vec<u32>) = all.into_iter().unzip();
    assert_eq!(integers("conversions", &a, &texts), expected);
}

#[test]
fn access_out_of_range_stays_inside() {
    let wgsl = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var local = array<u32, 3>(10u, 20u, 30u);
    let v = vec4<u32>(1u, 2u, 3u, 4u);
    out[id.x] = a[id.x * 1000u] + local[id.x] + v[id.x * 7u] + arrayLength(&a) * 1000u;
}";
    let kernel = written(wgsl, Options::default());
    let found = play("bounds", &kernel, [1, 1, 1], &[vec![100, 200], vec![0; 3]]);
    // The fourth invocation's store goes to the last element as well, so that one holds either.
    assert_eq!(found[1][..2], [2111, 2224]);
    assert!([2234, 2234].contains(&found[1][2]), "{found:?}");
    let unchecked = written(wgsl, Options { bounds_checks: false, ..Options::default() });
    assert!(!unchecked.source.contains("within("));
}

#[test]
fn control_flow_and_pointers() {
    let wgsl = "
struct Pair { sum: u32, best: i32 }
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
fn add(to: ptr<function, Pair>, value: u32) { (*to).sum += value; (*to).best = max((*to).best, i32(value)); }
fn twice(x: u32) -> u32 { return x * 2u; }
@compute @workgroup_size(1)
fn main() {
    var pair = Pair(0u, -5);
    for (var k = 0u; k < 20u; k++) {
        if (k % 3u == 0u) { continue; }
        if (k > 10u) { break; }
        add(&pair, twice(k));
    }
    out[0] = pair.sum;
    out[1] = bitcast<u32>(pair.best);
    var n = 0u;
    loop {
        n += 1u;
        if (n == 3u) { continue; }
        continuing { n += 10u; break if n > 40u; }
    }
    out[2] = n;
    var kind = 0u;
    switch (n % 4u) { case 0u, 1u: { kind = 1u; } case 2u: { kind = 2u; } default: { kind = 3u; } }
    out[3] = kind;
    while (kind < 100u) { kind *= 3u; }
    out[4] = kind;
}";
    // 1, 2, 4, 5, 7, 8, 10 doubled; n = 11, 22, 33, 44.
    let found = play("control", &written(wgsl, Options::default()), [1, 1, 1], &[vec![0; 5]]);
    assert_eq!(found[0], [74, 20, 44, 1, 243]);
}

/// What runs between two rounds may use what the round computed, as it was then.
#[test]
fn blocks_between_rounds_use_what_the_body_computed() {
    let wgsl = "
struct Pair { low: u32, high: u32 }
var<workgroup> step: u32;
@group(0) @binding(0) var<storage, read_write> out: array<u32, 10>;
@group(0) @binding(1) var<storage, read_write> counters: array<atomic<u32>>;
fn next(x: u32) -> u32 { return 2u * x + 1u; }
fn pair(x: u32) -> Pair { return Pair(x, 10u * x); }
@compute @workgroup_size(1)
fn main() {
    var n = 0u;
    var sum = 0u;
    loop {
        let before = n;
        n += 1u;
        continuing { sum += before; break if before > 4u; }
    }
    out[0] = n;
    out[1] = sum;

    // Results of calls, through an expression that only the break needs.
    n = 1u;
    loop {
        let after = next(n);
        let both = pair(n);
        n = after;
        if (after == 7u) { continue; }
        out[2] += 1u;
        continuing { out[3] += both.low + both.high; break if after > 30u; }
    }

    // Atomics, workgroup memory, vectors, and a pointer whose index was computed.
    step = 2u;
    loop {
        let old = atomicAdd(&counters[0], 3u);
        let swapped = atomicCompareExchangeWeak(&counters[1], old, old + 3u);
        let by = workgroupUniformLoad(&step);
        let v = vec2<u32>(old, by);
        let place = &out[4u + old / 3u % 2u];
        step += 1u;
        continuing {
            *place += v.x + 100u * v.y;
            out[6] += select(0u, 1u, swapped.exchanged) + 10u * swapped.old_value;
            break if v.x >= 9u;
        }
    }

    // One loop in another's body and one between its rounds, each with values of its own and of the other.
    var i = 0u;
    loop {
        let row = i;
        i += 1u;
        var j = 0u;
        loop {
            let column = j;
            j += 1u;
            continuing { out[7] += 10u * row + column; break if column == row; }
        }
        continuing {
            var k = 0u;
            loop {
                let part = k + row;
                k += 1u;
                continuing { out[8] += part; out[9] += row; break if part > 2u; }
            }
            break if row == 2u;
        }
    }
}";
    let found = play("between", &written(wgsl, Options::default()), [1, 1, 1], &[vec![0; 10], vec![0; 2]]);
    // n = 1, 3, 7, 15 give 3, 7, 15, 31; old = 0, 3, 6, 9 with steps 2 to 5; columns 0 to row; parts from row to 3.
    let expected = [6, 15, 3, 26 * 11, 6 + 600, 12 + 800, 4 + 180, 84, 17, 7];
    assert_eq!(found[0], expected);
    assert_eq!(found[1], [12, 12]);
}

/// With nothing to go to, an access stays where the first element would be.
#[test]
fn empty_buffers_are_not_left() {
    let wgsl = "
@group(0) @binding(0) var<storage, read> empty: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1)
fn main() {
    out[0] = empty[5] + empty[out[1]] + empty[bitcast<i32>(out[1])] + 10u * arrayLength(&empty) + 7u;
}";
    let found = play("empty", &written(wgsl, Options::default()), [1, 1, 1], &[vec![], vec![0, 3]]);
    assert_eq!(found[1], [7, 3]);
}

#[test]
fn vectors_matrices_and_structures_lie_as_wgsl_lays_them() {
    let wgsl = "
struct Inner { a: vec3<f32>, b: f32, c: vec2<u32> }
struct Params { first: u32, inner: Inner, m: mat2x2<f32>, last: vec4<f32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> points: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1)
fn main() {
    let v = params.m * vec2<f32>(1.0, 2.0);
    out[0] = v.x; out[1] = v.y;
    out[2] = dot(params.inner.a, vec3<f32>(params.inner.b)) + f32(params.inner.c.y) + f32(params.first);
    let n = cross(params.inner.a, points[1].zyx);
    out[3] = n.x; out[4] = n.y; out[5] = n.z;
    out[6] = length(params.last.xy - points[0].zw);
    let t = transpose(mat2x3<f32>(params.inner.a, points[0].xyz));
    out[7] = t[2].y;
    let chosen = select(vec2<f32>(1.0, 2.0), vec2<f32>(3.0, 4.0), points[0].xy < points[1].xy);
    out[8] = chosen.x * 10.0 + chosen.y;
    out[9] = select(0.0, 1.0, all(points[0].xy >= vec2<f32>(0.0)) && !any(points[0].zw > vec2<f32>(100.0)));
    let one = points[0].x;
    out[10] = mix(2.0 * one, 4.0, 0.25) + fract(-1.25 * one) + sign(-3.0 * one) + round(2.5 * one) + step(1.0, one) + smoothstep(0.0, 2.0 * one, one);
}";
    let kernel = written(wgsl, Options::default());
    assert_eq!(kernel.parameters[0], Parameter::Uniform { binding: 0, bytes: 80 });
    assert_eq!(kernel.parameters[1], Parameter::Storage { binding: 1, writes: false, element_bytes: 16 });
    let f = f32::to_bits;
    let gap = 0xffff_ffff;
    let params = vec![
        5,
        gap,
        gap,
        gap,
        f(1.0),
        f(2.0),
        f(3.0),
        f(2.0),
        9,
        7,
        gap,
        gap,
        f(1.0),
        f(2.0),
        f(3.0),
        f(4.0),
        f(3.0),
        f(4.0),
        f(0.0),
        f(0.0),
    ];
    let points = bits(&[1.0, 5.0, 0.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
    let found = play("layouts", &kernel, [1, 1, 1], &[params, points, vec![0; 11]]);
    // cross((1, 2, 3), (6, 4, 2)) = (2·2 − 3·4, 3·6 − 1·2, 1·4 − 2·6)
    let expected = [7.0, 10.0, 24.0, -8.0, 16.0, -8.0, 5.0, 0.0, 32.0, 1.0, 2.5 + 0.75 - 1.0 + 2.0 + 1.0 + 0.5];
    assert_eq!(reals(&found[2]), expected);
}

#[test]
fn workgroups_share_memory_meet_at_barriers_and_count_atomically() {
    let wgsl = "
var<workgroup> shared_values: array<u32, 64>;
var<workgroup> count: atomic<u32>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<atomic<i32>>;
@compute @workgroup_size(8, 8)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(global_invocation_id) id: vec3<u32>) {
    let before = shared_values[lane] + atomicLoad(&count);
    workgroupBarrier();
    shared_values[lane] = lane + group.x * 100u;
    atomicAdd(&count, 1u);
    workgroupBarrier();
    let other = shared_values[63u - lane];
    let all = workgroupUniformLoad(&shared_values[5]);
    let place = (id.y * 8u * groups.x + id.x) * 1u;
    out[place] = other + before * 100000u + (atomicLoad(&count) - 64u) + (all - all) + (local.y * 8u + local.x - lane);
    atomicAdd(&total[0], 1);
    atomicMax(&total[1], i32(lane));
    atomicSub(&total[2], 2);
    let swapped = atomicCompareExchangeWeak(&total[3], 0, 17);
    if (swapped.exchanged) { atomicAdd(&total[4], 1 + swapped.old_value); }
}";
    let found = play("workgroups", &written(wgsl, Options::default()), [2, 1, 1], &[vec![0; 128], vec![0; 5]]);
    for group in 0..2u32 {
        for lane in 0..64u32 {
            let place = (lane / 8) * 16 + group * 8 + lane % 8;
            assert_eq!(found[0][place as usize], 63 - lane + group * 100, "group {group}, lane {lane}");
        }
    }
    assert_eq!(found[1], [128, 63, (-256i32) as u32, 17, 1]);
}

#[test]
fn subgroups_are_warps() {
    let wgsl = "
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32) {
    out[lane] = subgroupAdd(lane) + subgroupExclusiveAdd(1u) * 1000u + subgroupMax(lane) * 100000u
        + select(0u, 1u << 30u, subgroupAny(lane == 7u) && subgroupAll(size == 32u))
        + (subgroupShuffle(lane, 31u - lane) + lane - 31u) + subgroupBroadcastFirst(lane)
        + (subgroupBallot(lane < 2u).x - 3u) + (subgroupShuffleXor(lane, 1u) ^ lane) - 1u;
}";
    let found = play("subgroups", &written(wgsl, Options::default()), [1, 1, 1], &[vec![0; 32]]);
    for lane in 0..32u32 {
        assert_eq!(found[0][lane as usize], 496 + lane * 1000 + 3_100_000 + (1 << 30), "lane {lane}");
    }
}

#[test]
fn doubles_keep_their_digits() {
    let wgsl = "
@group(0) @binding(0) var<storage, read_write> out: array<f64>;
@compute @workgroup_size(1)
fn main() {
    out[0] = 0.1lf + 1e-17lf;
    out[1] = sqrt(out[2] + 1.7lf) * sin(out[2]);
    out[3] = fma(out[2], out[2], -1.0lf);
}";
    let kernel = written(wgsl, Options::default());
    let words = |value: f64| [value.to_bits() as u32, (value.to_bits() >> 32) as u32];
    let input = [0.0, 0.0, 0.3, 0.0].into_iter().flat_map(words).collect();
    let found = &play("doubles", &kernel, [1, 1, 1], &[input])[0];
    let value = |k: usize| f64::from_bits(u64::from(found[2 * k]) | u64::from(found[2 * k + 1]) << 32);
    assert_eq!(value(0), 0.1 + 1e-17);
    assert!((value(1) - 2f64.sqrt() * 0.3f64.sin()).abs() < 1e-15);
    assert_eq!(value(3), 0.3f64.mul_add(0.3, -1.0));
}

#[test]
fn what_it_cannot_write_it_says() {
    let refused = |wgsl: &str| match translate(wgsl, "main", Options::default()) {
        Err(error) => error,
        Ok(kernel) => panic!("this was written:\n{}", kernel.source),
    };
    let texture = "@group(0) @binding(0) var t: texture_2d<f32>;\n@group(0) @binding(1) var<storage, read_write> o: array<f32>;\n\
        @compute @workgroup_size(1) fn main() { o[0] = textureLoad(t, vec2<i32>(0, 0), 0).x; }";
    assert!(matches!(refused(texture), TranslateError::Write(WriteError::Unsupported { .. })), "{}", refused(texture));
    let gaps = "@group(0) @binding(0) var<storage, read_write> o: array<vec3<f32>>;\n\
        @compute @workgroup_size(1) fn main() { o[0].x = 1.0; }";
    assert!(matches!(refused(gaps), TranslateError::Write(WriteError::Layout { .. })), "{}", refused(gaps));
    assert!(refused(gaps).to_string().contains("vectors of 2 or 4"));
    let in_a_function = "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n\
        fn all(x: u32) -> u32 { return subgroupAdd(x); }\n\
        @compute @workgroup_size(8, 5) fn main() { o[0] = all(1u); }";
    assert!(matches!(refused(in_a_function), TranslateError::Write(WriteError::Unsupported { .. })), "{}", refused(in_a_function));
    let told = refused(in_a_function).to_string();
    assert!(told.contains("40 invocations") && told.contains("a multiple of 32"), "{told}");
    for operation in ["subgroupBallot(true).x", "subgroupShuffle(1u, 3u)", "subgroupMax(1u)"] {
        let of = |size: &str| in_a_function.replace("all(1u)", operation).replace("8, 5", size);
        assert_eq!(refused(&of("8, 5")).to_string().split_once(": ").map(|(_, what)| what), told.split_once(": ").map(|(_, what)| what));
        assert!(translate(&of("8, 4, 2"), "main", Options::default()).is_ok(), "{operation}");
    }
    let large = "@compute @workgroup_size(16384, 16384, 16384) fn main() {}";
    assert!(matches!(refused(large), TranslateError::Write(WriteError::Unsupported { .. })), "{}", refused(large));
    let overridable = "override size: u32 = 64;\n@compute @workgroup_size(size) fn main() {}";
    assert!(refused(overridable).to_string().contains("workgroup size"), "{}", refused(overridable));
    let wrong = "@compute @workgroup_size(1) fn main() { let x = 1u + 1.5; }";
    assert!(matches!(refused(wrong), TranslateError::Invalid(_)));
    let other = "@compute @workgroup_size(1) fn start() {}";
    assert_eq!(refused(other), TranslateError::Write(WriteError::NoEntryPoint("main".into())));
}
