//! For every static kernel: its input at a size, and what it must write, worked out anew in plain f64.

mod along;
pub mod blocks;
mod bounds;
pub mod clusters;
mod copy;
mod damping;
mod descent;
mod dogleg;
mod fits;
mod gather;
mod graph;
mod levenberg;
mod line_search;
mod linear;
mod mask;
mod merged;
mod meshes;
mod patches;
mod pcg;
mod project;
mod reduced;
mod search;
mod tensors;

use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::StaticKernel;

/// Widths of variables, and above [`ALL_WIDTHS_UP_TO`] items only the usual one.
const WIDTHS: [usize; 5] = [1, 2, 3, 6, 7];
const ALL_WIDTHS_UP_TO: usize = 6000;

/// The cases of a kernel at a size. A kernel without any does not compile.
pub fn cases(kernel: StaticKernel, size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let widths = if size <= ALL_WIDTHS_UP_TO { &WIDTHS[..] } else { &[3] };
    let wide = |random: &mut Random, make: &dyn Fn(&Tables, &mut Random) -> Case, items: Items| {
        let with = |&width: &usize| {
            let mut case = make(&Tables::new(size, width, group, items, random), random);
            case.name += &format!("width {width}");
            case
        };
        widths.iter().map(with).collect()
    };
    match kernel {
        StaticKernel::SystemGather => widths.iter().map(|&width| gather::gather(size, width, random)).collect(),
        StaticKernel::SystemDiagonalMax => wide(random, &damping::peak, Items::Elements),
        StaticKernel::SystemDampingDiagonal => wide(random, &damping::damping, Items::Elements),
        StaticKernel::SystemMask => vec![mask::mask(size, random)],
        StaticKernel::SystemMaskBlocks => wide(random, &mask::mask_blocks, Items::Variables),
        StaticKernel::BoundsActiveSet => vec![bounds::active_set(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::BoundsProjectPoint => vec![bounds::project_point(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::BoundsMoved => vec![bounds::moved(size, random)],
        StaticKernel::BoundsClip => vec![bounds::clip(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::BoundsClipped => bounds::clipped(size, random),
        StaticKernel::BoundsClippedModel => vec![bounds::clipped_model(size, random)],
        StaticKernel::PcgBlockJacobi => wide(random, &blocks::invert_blocks, Items::Variables),
        StaticKernel::PcgStart => wide(random, &pcg::start, Items::Variables),
        StaticKernel::PcgBegin => pcg::begin(size, random),
        StaticKernel::PcgDirection => pcg::direction(size, random),
        StaticKernel::PcgCurvature => vec![pcg::curvature(size, group, random)],
        StaticKernel::PcgUpdate => {
            let with = |&width: &usize| pcg::update(&Tables::new(size, width, group, Items::Variables, random), group, random);
            widths.iter().flat_map(with).collect()
        }
        StaticKernel::PcgBeta => pcg::beta(size, random),
        StaticKernel::MergedDiagonal => merged::diagonal(size, random),
        StaticKernel::MergedStart => wide(random, &|tables, random| merged::start(tables, group, random), Items::Variables),
        StaticKernel::MergedAccumulate => widths.iter().flat_map(|&width| merged::accumulate(size, width, group, random)).collect(),
        StaticKernel::MergedUpdate => {
            let with = |&width: &usize| merged::update(&Tables::new(size, width, group, Items::Variables, random), group, random);
            widths.iter().flat_map(with).collect()
        }
        StaticKernel::StepTrial => vec![levenberg::trial(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::StepTrialManifold => vec![levenberg::place(&Tables::new(size, 4, group, Items::Elements, random), random)],
        StaticKernel::StepModel => vec![levenberg::model(size, random)],
        StaticKernel::StepSum => vec![levenberg::sum(size, group, random)],
        StaticKernel::StepCost => vec![levenberg::cost(size, random)],
        StaticKernel::StepStepNorms => vec![damping::extent(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::StepStepTooFar => damping::reach(size, random),
        StaticKernel::StepAccept => levenberg::accept(size, random),
        StaticKernel::StepLinearCombination => {
            vec![levenberg::linear_combination(&Tables::new(size, 3, group, Items::Elements, random), random)]
        }
        StaticKernel::StepCommit => vec![levenberg::commit(&Tables::new(size, 3, group, Items::Elements, random), random)],
        StaticKernel::TrustRegionNielsen => levenberg::nielsen(random),
        StaticKernel::TrustRegionResetDamping => levenberg::reset_damping(random),
        StaticKernel::TrustRegionStepLength => levenberg::step_length(random),
        StaticKernel::TrustRegionSteepest => vec![dogleg::steepest(size, random)],
        StaticKernel::TrustRegionDoglegSums => vec![dogleg::sums(size, group, random)],
        StaticKernel::TrustRegionDoglegPlane => vec![dogleg::plane(size, random)],
        StaticKernel::TrustRegionDogleg => dogleg::traditional(random),
        StaticKernel::TrustRegionDoglegSubspace => dogleg::subspace(random),
        StaticKernel::TrustRegionTrustRegion => dogleg::trust_region(random),
        StaticKernel::TrustRegionCombine => dogleg::combine(size, random),
        StaticKernel::FitsTally => fits::tally(size, random),
        StaticKernel::FitsOffsets => vec![fits::offsets(size, random)],
        StaticKernel::FitsCompact => fits::compact(size, random),
        StaticKernel::FitsBegin => fits::begin(size, random),
        StaticKernel::FitsKeep => vec![fits::keep(size, random)],
        StaticKernel::FitsGather => vec![fits::gather(size, group, random)],
        StaticKernel::MeasureCopy => vec![copy::copy(size, random)],
        StaticKernel::MeshVertexNormals => meshes::vertex_normals(size, random),
        StaticKernel::LineSearchScaleStep => descent::stretch(size, random),
        StaticKernel::LineSearchChanged => descent::changed(size, random),
        StaticKernel::LineSearchSlopes => descent::slopes(size, group, random),
        StaticKernel::LineSearchLineSearch => line_search::line_search(size, random),
        StaticKernel::DescentLbfgsPush => descent::remember(size, random),
        StaticKernel::DescentInnerProducts => descent::inner_products(size, group, random),
        StaticKernel::DescentTwoLoop => line_search::two_loop(size, random),
        StaticKernel::DescentDescend => descent::descend(size, random),
        StaticKernel::DescentAdam => descent::adam(size, random),
        StaticKernel::SystemPsdBlocks => project::project_blocks(size, random),
        StaticKernel::ReducedInvert => {
            let with = |&width: &usize| reduced::invert(&Tables::new(size, width, group, Items::Variables, random), random);
            widths.iter().flat_map(with).collect()
        }
        StaticKernel::ReducedSubstitute => {
            let with = |&width: &usize| reduced::substitute(&Tables::new(size, width, group, Items::Variables, random), random);
            widths.iter().flat_map(with).collect()
        }
        StaticKernel::ReducedSolvedBlocks => reduced::solved_blocks(size, random),
        StaticKernel::ReducedPairProducts => reduced::pair_products(size, random),
        StaticKernel::ReducedComplement => reduced::complement(size, random),
        StaticKernel::TwoLevelPatchCenters => patches::centers(size, random),
        StaticKernel::TwoLevelPatchModes => patches::modes(size, random),
        StaticKernel::TwoLevelPatchSpin => patches::spins(size, random),
        StaticKernel::TwoLevelPatchFollow => patches::follow(size, random),
        StaticKernel::TwoLevelCoarseDiagonal => patches::diagonal(size, group, random),
        StaticKernel::TwoLevelCoarsePairs => patches::pairs(size, group, random),
        StaticKernel::TwoLevelCoarseFrames => patches::frames(size, random),
        StaticKernel::TwoLevelMultiplyBlocks => patches::multiply(size, group, random),
        StaticKernel::TwoLevelInvertNodes => patches::invert(size, random),
        StaticKernel::TwoLevelSpectralRadius => patches::radius(size, random),
        StaticKernel::TwoLevelCouple => patches::couple(size, group, random),
        StaticKernel::TwoLevelPatchRestrict => patches::restrict(size, group, random),
        StaticKernel::TwoLevelPatchProlong => patches::prolong(size, group, random),
        StaticKernel::ClusteringLloydAssign => clusters::assign(size, group, random),
        StaticKernel::ClusteringSortTally => clusters::tally(size, group, random),
        StaticKernel::ClusteringSortSpread => vec![clusters::spread(size, random)],
        StaticKernel::ClusteringSortOffsets => vec![clusters::offsets(size, random)],
        StaticKernel::ClusteringSortScatter => clusters::scatter(size, group, random),
        StaticKernel::ClusteringSortKeys => vec![clusters::keys(size, random)],
        StaticKernel::ClusteringLloydWeigh => clusters::weigh(size, group, random),
        StaticKernel::ClusteringLloydCentroidSums => clusters::centroid_sums(size, group, random),
        StaticKernel::ClusteringLloydUpdate => clusters::update(size, group, random),
        StaticKernel::ClusteringLloydDistances => clusters::distances(size, group, random),
        StaticKernel::ClusteringLloydConverge => clusters::converge(size, random),
        StaticKernel::ClusteringInitFarthest => clusters::farthest(size, group, random),
        StaticKernel::ClusteringInitPick => clusters::pick(size, group, random),
        StaticKernel::ClusteringInitPotentials => clusters::potentials(size, group, random),
        StaticKernel::ClusteringInitElect => clusters::elect(size, random),
        StaticKernel::ClusteringMovesSeed => clusters::seed(size, random),
        StaticKernel::ClusteringInitAdopt => clusters::adopt(size, random),
        StaticKernel::ClusteringMovesMerge => clusters::merge(size, group, random),
        StaticKernel::ClusteringMovesRelabel => vec![clusters::relabel(size, group, random)],
        StaticKernel::ClusteringMovesDivide => vec![clusters::divide(size, group, random)],
        StaticKernel::ClusteringLloydTotals => vec![clusters::totals(size, group, random)],
        StaticKernel::ClusteringLloydNorms => clusters::norms(size, group, random),
        StaticKernel::ClusteringAnnealScores => vec![clusters::scores(size, group, random)],
        StaticKernel::ClusteringAnnealSoften => vec![clusters::soften(size, group, random)],
        StaticKernel::ClusteringAnnealBlend => clusters::blend(size, group, random),
        StaticKernel::ClusteringAnnealPairs => clusters::pairs(size, group, random),
        StaticKernel::GraphWalk => graph::walk(size, group, random),
        StaticKernel::GraphLink => graph::link(size, group, random),
        StaticKernel::SearchPairwise => search::pairwise(size, group, random),
        StaticKernel::SearchProbe => search::probe(size, group, random),
        StaticKernel::SearchSplit => search::split(size, random),
        StaticKernel::SearchDecode => search::decode(size, random),
        StaticKernel::SearchEstimate => search::estimate(size, group, random),
        StaticKernel::SearchFinish => search::finish(size, random),
        StaticKernel::SearchShortlist => search::shortlist(size, group, random),
        StaticKernel::TensorAttend => tensors::attend(size, group, random),
        StaticKernel::TensorAttendQueries => tensors::attend_queries(size, group, random),
        StaticKernel::TensorAttendKeys => tensors::attend_keys(size, group, random),
        StaticKernel::TensorFold => tensors::fold(size, group, random),
        StaticKernel::TensorSumRows => tensors::sum_rows(size, group, random),
        StaticKernel::TensorScan => along::scan(size, group, random),
        StaticKernel::TensorRecur => along::recur(size, group, random),
        StaticKernel::TensorMerge => along::merge(size, group, random),
        StaticKernel::TensorScanWords => along::scan_words(size, group, random),
        StaticKernel::TensorMergeWords => along::merge_words(size, group, random),
        StaticKernel::TensorScatterWords => along::scatter_words(size, group, random),
        StaticKernel::TensorTake => along::take(size, group, random),
        StaticKernel::TensorScatter => along::scatter(size, group, random),
        StaticKernel::TensorSolve => linear::solve(size, group, random),
        StaticKernel::TensorCholesky => linear::cholesky(size, group, random),
        StaticKernel::TensorQr => linear::qr(size, group, random),
        StaticKernel::TensorSingular => linear::singular(size, group, random),
    }
}

/// What an item of a kernel over tables is.
#[derive(Clone, Copy, PartialEq)]
pub enum Items {
    Variables,
    Elements,
}

/// Where a table's parts begin.
pub struct Table {
    pub items: usize,
    pub width: usize,
    pub arena: usize,
    pub vector: usize,
    pub block: usize,
    /// The first of its partials, and how many there are.
    pub partial: usize,
    pub spread: Spread,
}

impl Table {
    pub fn packed(&self) -> usize {
        self.width * (self.width + 1) / 2
    }

    /// Where its vector begins, a variable's width, where its blocks and its partials begin.
    pub fn places(&self) -> [u32; 4] {
        [self.vector, self.width, self.block, self.partial].map(|word| word as u32)
    }
}

/// Three tables with gaps between them: the one of the wanted size between two small ones.
pub struct Tables {
    pub list: Vec<Table>,
    pub arena_len: usize,
    pub vector_len: usize,
    pub blocks_len: usize,
    pub partials: usize,
    /// Between kinds of partials.
    pub distance: usize,
}

impl Tables {
    pub fn new(size: usize, width: usize, group: usize, items: Items, random: &mut Random) -> Self {
        let mut tables = Self { list: Vec::new(), arena_len: 9, vector_len: 2, blocks_len: 1, partials: 0, distance: 0 };
        for (size, width) in [(3, 2), (size, width), (66, 1)] {
            let variables = if items == Items::Elements { size.div_ceil(width) } else { size };
            let items = if items == Items::Elements { variables * width } else { variables };
            let Self { arena_len: arena, vector_len: vector, blocks_len: block, partials: partial, .. } = tables;
            let spread = Spread::new(items, group, random);
            let table = Table { items, width, arena, vector, block, partial, spread };
            tables.arena_len += variables * width + 7;
            tables.vector_len += variables * width + 5;
            tables.blocks_len += variables * table.packed() + 3;
            tables.partials += spread.groups;
            tables.list.push(table);
        }
        tables.distance = tables.partials + 3;
        tables
    }
}

/// How a reduction's elements are spread over workgroups: runs of whole rounds of a workgroup's lanes.
#[derive(Clone, Copy)]
pub struct Spread {
    elements: usize,
    pub groups: usize,
    group: usize,
}

/// Small limits allow no more workgroups in a row, and reductions have no second one.
const MAX_GROUPS: usize = 256;

impl Spread {
    /// As one workgroup, as solvers do it, or as one round of all lanes; then the last workgroup has nothing to do.
    pub fn new(elements: usize, group: usize, random: &mut Random) -> Self {
        let groups = match random.below(3) {
            _ if elements > ALL_WIDTHS_UP_TO => elements.div_ceil(group),
            0 => 1,
            1 => elements.div_ceil(8 * group),
            _ => elements.div_ceil(group) + 1,
        };
        Self { elements, groups: groups.clamp(1, MAX_GROUPS), group }
    }

    /// Items of the dispatch.
    pub fn lanes(self) -> u32 {
        (self.groups * self.group) as u32
    }

    /// The workgroups, with the elements of each.
    pub fn each(self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize>)> {
        let Self { elements, groups, group } = self;
        let length = elements.div_ceil(groups * group) * group;
        let of = move |number: usize| (number * length).min(elements)..((number + 1) * length).min(elements);
        (0..groups).map(move |number| (number, of(number)))
    }
}

/// Entry (r, c) of a packed symmetric block.
pub fn entry(blocks: &[f64], block: usize, r: usize, c: usize) -> f64 {
    let (low, high) = (r.min(c), r.max(c));
    blocks[block + high * (high + 1) / 2 + low]
}

/// Σ of values that are given.
pub fn total(values: &[f64]) -> Value {
    values.iter().map(|value| Value::from(*value)).sum()
}
