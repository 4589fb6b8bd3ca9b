// Parts of the engine's module: what each of them is made of, by the names of its functions.

/** Names of the parts, in the order of their numbers, which the façade has as well (`ts/src/parts.ts`). */
export const PARTS = ["webgpu", "cpu", "direct", "levels", "descent", "tensors", "vectors", "rare", "seldom", "single", "doubles", "normals", "reduced", "fits", "graph"];

// The first pattern that fits decides; "" is the primary module. What fits none goes by what calls it.
const RULES = [
  // What calls that wait for nothing may come to, whatever is loaded: devices are made and freed, options checked, bounds kept.
  ["", /^<?leastwise_cpu::(CpuDevice|half|evaluators::Evaluators::new)\b/],
  ["", /leastwise_program::wgsl::split::(columns|cost|is_small)\b/],
  ["", /leastwise_solve::(active_set|descent::rules?|descent::Descent::pairs)\b|leastwise_solve::linear::two_level::refused/],
  ["", /leastwise_outer::(devices|mixed_precision::(MixedPrecision::begin|refusal))\b/],
  // WGSL, by the folders of `shaders/`.
  ["vectors", /leastwise_kernels::texts::(clustering|search)\b/],
  ["graph", /leastwise_kernels::texts::graph\b/],
  ["tensors", /leastwise_kernels::texts::tensor\b/],
  ["levels", /leastwise_kernels::texts::two_level\b/],
  ["normals", /leastwise_kernels::texts::mesh\b/],
  ["fits", /leastwise_kernels::texts::fits\b/],
  ["reduced", /leastwise_kernels::texts::reduced\b/],
  ["descent", /leastwise_kernels::texts::(descent|line_search)\b/],
  ["webgpu", /leastwise_recording::source::KernelSource::texts\b|leastwise_kernels::(texts|link)::|leastwise_kernels::StaticKernel::text\b/],
  ["doubles", /leastwise_kernels::doubles::in_table\b/],
  // The self-check of double-floats, which any engine but one of f32 makes, and what writes programs in them.
  ["webgpu", /leastwise_kernels::(doubles|arithmetic)::/],
  // The engine's own interface, which has the names of its calls.
  ["graph", /^engine_(\w*[lL]azy\w*|mergeIndex|\w+IndexChanges|\w*[bB]itIndex\w*)/],
  ["vectors", /^engine_(cluster|compress|openPublished|\w+Index\w*|index\w+)( .*)?$/],
  ["direct", /^engine_covariance\w*/],
  ["rare", /^engine_(graduated|backward|tune|tuning|setTuning|termCosts|measure\w*|traffic|evaluateTerm|checkTerm|multipliers|saveSolver|restoreSolver)\b/],
  ["tensors", /^engine_tensor\w+/],
  ["normals", /^engine_(normals|\w+Normals)\b/],
  ["fits", /^engine_(newFits?|fitCapacity|\w+Fits?)\b/],
  ["graph", /leastwise_session::(fetched|graphs|merging|bits)\b|leastwise_anneal::(bits|index::(graphed|fetched|merging|changes|by_bits)|graph::(bits|build|device|walk|whole))\b|leastwise_cpu::twins::(graph|(of|in_single)::Graph\w+)\b/],
  ["vectors", /leastwise_anneal::|leastwise_session::(clusters|compress|indices|searches|wire::progress::(found|measured|Evaluated|Searched))\b|leastwise_cpu::twins::(clustering|search|(of|in_single)::(Clustering|Search)\w+)\b/],
  ["tensors", /leastwise_tensor::|leastwise_session::(calibration|lending|tensors)\b|leastwise_problem::lending\b|leastwise_cpu::(twins::(tensor|(of|in_single)::Tensor\w+)|block::fused|product)\b|leastwise_program::(wgsl::)?(fused|words)\b/],
  ["fits", /leastwise_fits::|leastwise_session::(fits|wire::term::fit)\b|leastwise_program::(wgsl::)?fit\b|leastwise_cpu::(block::fit|wasm::(fit|exponential)|twins::(fits|(of|in_single)::Fits\w+))\b|\bModule>?::of_sums\b/],
  ["normals", /leastwise_session::normals\b|leastwise_cpu::twins::(mesh|(of|in_single)::Mesh\w+)\b/],
  // Merged products are for GPUs: what a CPU has of them, tests run alone.
  ["webgpu", /leastwise_solve::linear::merged\b|leastwise_program::(merged|HalfProduct|MergedP\w+)\b/],
  ["rare", /leastwise_cpu::(block::merged|twins::(merged|(of|in_single)::Merged\w+))\b/],
  ["levels", /leastwise_solve::linear::two_level\b|leastwise_cpu::twins::(two_level|(of|in_single)::TwoLevel\w+)\b/],
  // A complement that is formed is planned, and ordered, by what chooses factors.
  ["direct", /leastwise_solve::linear::reduced::formed::plan\b/],
  ["reduced", /leastwise_solve::linear::reduced\b|leastwise_program::(wgsl::)?reduced\b|leastwise_problem::own_lists\b|leastwise_cpu::twins::(reduced|(of|in_single)::Reduced\w+)\b/],
  ["descent", /leastwise_solve::(descent|solver::descending)\b|leastwise_cpu::twins::(descent|line_search|(of|in_single)::(Descent|LineSearch)\w+)\b/],
  ["direct", /leastwise_solve::linear::(sparse|direct|minimum_degree|qr|elimination|left_looking|schur|frozen|dense|panels|parallel|matrix|rows|conjugate|preconditioner::Preconditioner::solve)\b/],
  ["direct", /leastwise_solve::(assembly|covariance|solver::systems::.*(solve_system|go_on|end_after)|solver::resources::.*Choosing)\b|leastwise_solve::linear::choose::(choose|too_full|on_host)/],
  ["direct", /leastwise_(session::covariances|outer::covariance)\b|\bfaer\b/],
  // What gradients through a solve come to as well, which are never there without factors.
  ["direct", /leastwise_linear::(left_looking::LeftLooking::solved|matrix::BlockMatrix::(mask|multiply_\w+))\b/],
  ["seldom", /leastwise_outer::(mixed_precision|sibling_solve)\b/],
  ["rare", /leastwise_session::(checkpoints|differentiation)\b|leastwise_outer::(augmented_lagrangian|evaluation|gradients|graduated|measure|tuning)\b/],
  ["rare", /leastwise_solve::(adjoint|graduated|lagrangian|solver::(checkpoint|saved))\b|leastwise_problem::(checkpoint|file)\b/],
  // Kinds of terms, and what is done with them, that most programs have none of.
  ["seldom", /leastwise_problem::(.*\bProblem>?::add_(ragged|summed)|ragged|segment_tree|segment_sum_batch|segment_sums|constraint|snapshot|term::Term::ragged)\b/],
  ["seldom", /leastwise_program::(segment_sums\b|energy::(?!Normal)|hessian\b)|leastwise_solve::snapshot_layout\b|leastwise_expr::compose::eigen\b/],
  ["seldom", /leastwise_program::loss(es)?::.*\bTracedLoss\b|leastwise_problem::loss_parameters::Loss::traced\b/],
  // Files and their numbers in decimals.
  ["seldom", /leastwise_base::container\b|\bserde_json::|\bzmij::|::num::dec2flt\b/],
  ["webgpu", /leastwise_webgpu::|leastwise_program::(wgsl|fixed::Fixed::wgsl)\b|\bwgpu(_types)?::/],
  // By precision, which names do not tell.
  ["single", /leastwise_cpu::(play::.*\bin_f32|twins::in_single::\w+)\b/],
  [undefined, /leastwise_cpu::block::/],
  ["cpu", /leastwise_cpu::|wasm_encoder::/],
];

// Compilers give functions that are equal one body, and the name of either: of small ones, and of those that free something, names tell nothing.
const SMALL = 200;
const isCommon = /^core::ptr::drop_in_place/;
// Small, but the way to large tables, or to much code.
const isGate = /leastwise_kernels::(texts|doubles)::|::TracedLoss::/;

/** The part of a function with this name, counted from 1; 0 the primary, undefined where what calls it has to tell. */
export function claim(name, size) {
  if ((size < SMALL && !isGate.test(name)) || isCommon.test(name)) return undefined;
  const rule = RULES.find(([, pattern]) => pattern.test(name));
  return rule?.[0] === undefined ? undefined : PARTS.indexOf(rule[0]) + 1;
}

/** What is there whenever a part is, itself among them: `NEEDS` of the façade has no part without these. */
export const ALONG = { tensors: ["cpu", "single"], fits: ["cpu", "single"], vectors: ["cpu", "single", "seldom"], graph: ["vectors", "cpu", "single", "seldom"], rare: ["seldom"], single: ["cpu"], doubles: ["webgpu"] };
const along = ["core", ...PARTS].map((part) => [part, ...(ALONG[part] ?? [])].reduce((bits, each) => bits | (1 << (PARTS.indexOf(each) + 1)), 0));

/** The part of what functions of several parts come to, given as bits: one that is there whenever any of these is; 0 where there is none. */
export function home(bits) {
  const common = along.reduce((common, of, part) => (bits & (1 << part) ? common & of : common), ~0 >>> 0);
  return common === 0 ? 0 : 31 - Math.clz32(common);
}
