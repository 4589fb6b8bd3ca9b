//! For every static kernel: its input at a size, and what it must write, worked out anew in plain f64.

pub mod blocks;
mod bounds;
pub mod clusters;
mod copy;
mod damping;
mod descent;
mod dogleg;
mod gather;
mod levenberg;
mod line_search;
mod mask;
mod patches;
mod pcg;
mod project;
mod search;
mod tensors;

use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernel::Fixed;

/// Widths of variables, and above [`ALL_WIDTHS_UP_TO`] items only the usual one.
const WIDTHS: [usize; 5] = [1, 2, 3, 6, 7];
const ALL_WIDTHS_UP_TO: usize = 6000;

/// The cases of a kernel at a size. A kernel without any does not compile.
pub fn cases(kernel: Fixed, size: usize, group: usize, random: &mut Random) -> Vec<Case> {
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
        Fixed::Gather => widths.iter().map(|&width| gather::gather(size, width, random)).collect(),
        Fixed::Peak => wide(random, &damping::peak, Items::Elements),
        Fixed::Damping => wide(random, &damping::damping, Items::Elements),
        Fixed::Mask => vec![mask::mask(size, random)],
        Fixed::MaskBlocks => wide(random, &mask::mask_blocks, Items::Variables),
        Fixed::ActiveSet => vec![bounds::active_set(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::ProjectPoint => vec![bounds::project_point(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::Moved => vec![bounds::moved(size, random)],
        Fixed::Clip => vec![bounds::clip(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::Clipped => bounds::clipped(size, random),
        Fixed::ClippedModel => vec![bounds::clipped_model(size, random)],
        Fixed::InvertBlocks => wide(random, &blocks::invert_blocks, Items::Variables),
        Fixed::PcgStart => wide(random, &pcg::start, Items::Variables),
        Fixed::PcgBegin => pcg::begin(size, random),
        Fixed::PcgDirection => pcg::direction(size, random),
        Fixed::PcgCurvature => vec![pcg::curvature(size, group, random)],
        Fixed::PcgUpdate => {
            let with = |&width: &usize| pcg::update(&Tables::new(size, width, group, Items::Variables, random), group, random);
            widths.iter().flat_map(with).collect()
        }
        Fixed::PcgBeta => pcg::beta(size, random),
        Fixed::Trial => vec![levenberg::trial(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::Place => vec![levenberg::place(&Tables::new(size, 4, group, Items::Elements, random), random)],
        Fixed::Model => vec![levenberg::model(size, random)],
        Fixed::Sum => vec![levenberg::sum(size, group, random)],
        Fixed::Cost => vec![levenberg::cost(size, random)],
        Fixed::Extent => vec![damping::extent(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::Reach => damping::reach(size, random),
        Fixed::Accept => levenberg::accept(size, random),
        Fixed::Commit => vec![levenberg::commit(&Tables::new(size, 3, group, Items::Elements, random), random)],
        Fixed::Nielsen => levenberg::nielsen(random),
        Fixed::Wake => levenberg::wake(random),
        Fixed::StepLength => levenberg::step_length(random),
        Fixed::Steepest => vec![dogleg::steepest(size, random)],
        Fixed::DoglegSums => vec![dogleg::sums(size, group, random)],
        Fixed::DoglegPlane => vec![dogleg::plane(size, random)],
        Fixed::Dogleg => dogleg::traditional(random),
        Fixed::DoglegSubspace => dogleg::subspace(random),
        Fixed::TrustRegion => dogleg::trust_region(random),
        Fixed::Combine => dogleg::combine(size, random),
        Fixed::Copy => vec![copy::copy(size, random)],
        Fixed::Stretch => descent::stretch(size, random),
        Fixed::Changed => descent::changed(size, random),
        Fixed::Slopes => descent::slopes(size, group, random),
        Fixed::LineSearch => line_search::line_search(size, random),
        Fixed::Remember => descent::remember(size, random),
        Fixed::InnerProducts => descent::inner_products(size, group, random),
        Fixed::TwoLoop => line_search::two_loop(size, random),
        Fixed::Descend => descent::descend(size, random),
        Fixed::Adam => descent::adam(size, random),
        Fixed::ProjectBlocks => project::project_blocks(size, random),
        Fixed::PatchCenters => patches::centers(size, random),
        Fixed::PatchModes => patches::modes(size, random),
        Fixed::PatchSpin => patches::spins(size, random),
        Fixed::PatchFollow => patches::follow(size, random),
        Fixed::CoarseDiagonal => patches::diagonal(size, random),
        Fixed::CoarsePairs => patches::pairs(size, random),
        Fixed::CoarseFrames => patches::frames(size, random),
        Fixed::MultiplyBlocks => patches::multiply(size, random),
        Fixed::InvertNodes => patches::invert(size, random),
        Fixed::SpectralRadius => patches::radius(size, random),
        Fixed::Couple => patches::couple(size, random),
        Fixed::PatchRestrict => patches::restrict(size, random),
        Fixed::PatchProlong => patches::prolong(size, group, random),
        Fixed::Assign => clusters::assign(size, group, random),
        Fixed::Tally => clusters::tally(size, group, random),
        Fixed::Spread => vec![clusters::spread(size, random)],
        Fixed::Offsets => vec![clusters::offsets(size, random)],
        Fixed::Scatter => clusters::scatter(size, group, random),
        Fixed::Keys => vec![clusters::keys(size, random)],
        Fixed::Weigh => clusters::weigh(size, group, random),
        Fixed::CentroidSums => clusters::centroid_sums(size, group, random),
        Fixed::Update => clusters::update(size, group, random),
        Fixed::Distances => clusters::distances(size, group, random),
        Fixed::Converge => clusters::converge(size, random),
        Fixed::Farthest => clusters::farthest(size, group, random),
        Fixed::Pick => clusters::pick(size, group, random),
        Fixed::Potentials => clusters::potentials(size, group, random),
        Fixed::Elect => clusters::elect(size, random),
        Fixed::Seed => clusters::seed(size, random),
        Fixed::Adopt => clusters::adopt(size, random),
        Fixed::Merge => clusters::merge(size, group, random),
        Fixed::Relabel => vec![clusters::relabel(size, group, random)],
        Fixed::Divide => vec![clusters::divide(size, group, random)],
        Fixed::Totals => vec![clusters::totals(size, group, random)],
        Fixed::Norms => clusters::norms(size, group, random),
        Fixed::Scores => vec![clusters::scores(size, group, random)],
        Fixed::Soften => vec![clusters::soften(size, group, random)],
        Fixed::Blend => clusters::blend(size, group, random),
        Fixed::Pairs => clusters::pairs(size, group, random),
        Fixed::Pairwise => search::pairwise(size, group, random),
        Fixed::Probe => search::probe(size, group, random),
        Fixed::Decode => search::decode(size, random),
        Fixed::Estimate => search::estimate(size, group, random),
        Fixed::Shortlist => search::shortlist(size, group, random),
        Fixed::Attend => tensors::attend(size, group, random),
        Fixed::AttendQueries => tensors::attend_queries(size, group, random),
        Fixed::AttendKeys => tensors::attend_keys(size, group, random),
        Fixed::Fold => tensors::fold(size, group, random),
        Fixed::SumRows => tensors::sum_rows(size, group, random),
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

    /// The words that most kernels over tables begin with.
    pub fn words(&self) -> [u32; 4] {
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
