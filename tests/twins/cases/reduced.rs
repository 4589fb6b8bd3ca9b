use super::blocks::{LAMBDA, definite, gauss_jordan};
use super::mask::free;
use super::{Tables, entry};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, reduced};
use leastwise::solve::state::{ALWAYS, DAMPING, INNER_EPSILON, SOLVED};

/// Relative spacing of the numbers that pivots are compared with.
const EPSILON: f64 = 1.25e-7;

/// Blocks that are definite, in part with unknowns that may not move; some have a last pivot that is noise, if it may move: those of `floors`
/// are inverted.
pub fn invert(tables: &Tables, random: &mut Random) -> Vec<Case> {
    let one = |masked: bool, random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedInvert, format!("width {}, masked {masked}", tables.list[1].width));
        let [mut blocks, mut floors] = [(); 2].map(|()| random.vector(tables.blocks_len));
        let scale = random.positive(tables.vector_len);
        let free = free(tables.vector_len, random);
        for table in &tables.list {
            for variable in 0..table.items {
                let at = table.block + variable * table.packed()..table.block + (variable + 1) * table.packed();
                definite(&mut blocks[at.clone()], table.width, random);
                definite(&mut floors[at.clone()], table.width, random);
                if variable % 3 == 1 {
                    blocks[at.end - 1] = -1000.0;
                }
            }
        }
        case.reals(reduced::Invert::BLOCKS, blocks.clone());
        case.reals(reduced::Invert::FLOORS, floors.clone());
        case.reals(reduced::Invert::SCALE, scale.clone());
        case.reals(reduced::Invert::FREE, free.clone());
        case.poisoned(reduced::Invert::INVERSE, tables.blocks_len);
        case.reals(reduced::Invert::STATE, random_state(random, &[(DAMPING, LAMBDA), (INNER_EPSILON, EPSILON)]));
        case.bound = 2e-6;
        for table in &tables.list {
            let [vector, width, block, _] = table.places();
            case.dispatch(table.items as u32, reduced::Invert { vector, width, block, masked: u32::from(masked) });
            for variable in 0..table.items {
                let (unknown, at) = (table.vector + variable * table.width, table.block + variable * table.packed());
                let moves: Vec<usize> = (0..table.width).filter(|&r| !masked || free[unknown + r] != 0.0).collect();
                let damping = |r: usize| LAMBDA * scale[unknown + r];
                let is_noisy = variable % 3 == 1 && moves.last() == Some(&(table.width - 1));
                let from = if is_noisy { &floors } else { &blocks };
                let damped = |r: usize, c: usize| entry(from, at, moves[r], moves[c]) + if r == c { damping(moves[r]) } else { 0.0 };
                let inverse = gauss_jordan(moves.len(), damped);
                let place = |r: usize| moves.iter().position(|&moving| moving == r);
                for (i, (r, c)) in (0..table.width).flat_map(|r| (0..=r).map(move |c| (r, c))).enumerate() {
                    let value = place(r).zip(place(c)).map_or(Value::default(), |(r, c)| inverse[r * (r + 1) / 2 + c]);
                    case.expect(reduced::Invert::INVERSE, at + i, value);
                }
            }
        }
        case
    };
    vec![one(false, random), one(true, random)]
}

pub fn substitute(tables: &Tables, random: &mut Random) -> Vec<Case> {
    let one = |whole: bool, random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedSubstitute, format!("width {}, whole {whole}", tables.list[1].width));
        let [product, gradient] = [(); 2].map(|()| random.vector(tables.vector_len));
        let inverse = random.vector(tables.blocks_len);
        case.reals(reduced::Substitute::PRODUCT, product.clone());
        case.reals(reduced::Substitute::GRADIENT, gradient.clone());
        case.reals(reduced::Substitute::INVERSE, inverse.clone());
        case.poisoned(reduced::Substitute::X, tables.vector_len);
        case.reals(reduced::Substitute::STATE, random_state(random, &[(SOLVED, 0.0), (ALWAYS, 0.0)]));
        let guard = if whole { ALWAYS } else { SOLVED };
        case.stop = (!whole).then_some((SOLVED, 1.0));
        for table in &tables.list {
            let [vector, width, block, _] = table.places();
            case.dispatch(table.items as u32, reduced::Substitute { vector, width, block, whole: u32::from(whole), guard });
            for variable in 0..table.items {
                let (unknown, at) = (table.vector + variable * table.width, table.block + variable * table.packed());
                for c in 0..table.width {
                    let value: Value = (0..table.width)
                        .map(|k| {
                            let right = Value::from(product[unknown + k]) + Value::from(if whole { gradient[unknown + k] } else { 0.0 });
                            Value::from(-entry(&inverse, at, c, k)) * right
                        })
                        .sum();
                    case.expect(reduced::Substitute::X, unknown + c, value);
                }
            }
        }
        case
    };
    vec![one(false, random), one(true, random)]
}

/// Marks blocks whose rows are those of the kept variable.
const KEPT_ROWS: u32 = 1 << 31;

/// A block of kept × eliminated unknowns, somewhere among others, the one way or the other.
struct Block {
    word: u32,
    rows: usize,
    inner: usize,
}

impl Block {
    fn random(rows: usize, inner: usize, blocks: usize, random: &mut Random) -> Self {
        let first = random.below(blocks as u32) * (rows * inner) as u32;
        Self { word: first | if random.below(2) == 0 { KEPT_ROWS } else { 0 }, rows, inner }
    }

    fn at(&self, values: &[f64], row: usize, column: usize) -> f64 {
        let first = (self.word & !KEPT_ROWS) as usize;
        values[first + if self.word & KEPT_ROWS == 0 { column * self.rows + row } else { row * self.inner + column }]
    }
}

pub fn solved_blocks(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |(rows, columns): (usize, usize), random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedSolvedBlocks, format!("{rows} × {columns}"));
        let (count, packed, area) = (size.div_ceil(rows), columns * (columns + 1) / 2, rows * columns);
        let (variables, first) = (count.min(7), 5);
        let (blocks, inverse) = (random.vector(4 * area), random.vector(first + variables * packed));
        case.reals(reduced::SolvedBlocks::BLOCKS, blocks.clone());
        case.reals(reduced::SolvedBlocks::INVERSE, inverse.clone());
        case.poisoned(reduced::SolvedBlocks::SOLVED, count * area);
        let (rows_word, columns_word, inverse_word) = (rows as u32, columns as u32, first as u32);
        case.dispatch((count * rows) as u32, reduced::SolvedBlocks { rows: rows_word, columns: columns_word, inverse: inverse_word });
        let mut words = Vec::new();
        for place in 0..count {
            let (block, variable) = (Block::random(rows, columns, 4, random), random.below(variables as u32));
            // Blocks of Y are in another order than their words.
            let to = (count - 1 - place) * area;
            words.extend([block.word, variable, to as u32]);
            for r in 0..rows {
                for c in 0..columns {
                    let at = first + variable as usize * packed;
                    let value: Value = (0..columns).map(|k| Value::from(block.at(&blocks, r, k)) * entry(&inverse, at, c, k).into()).sum();
                    case.expect(reduced::SolvedBlocks::SOLVED, to + r * columns + c, value);
                }
            }
        }
        case.indices(words);
        case
    };
    [(9, 3), (6, 3), (1, 1)].into_iter().map(|widths| one(widths, random)).collect()
}

pub fn pair_products(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |(rows, columns, inner, packed): (usize, usize, usize, bool), random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedPairProducts, format!("{rows} × {columns}, {inner}, packed {packed}"));
        let area = if packed { rows * (rows + 1) / 2 } else { rows * columns };
        let segments = size.div_ceil(area);
        let (solved, blocks) = (random.vector(5 * rows * inner), random.vector(3 * columns * inner));
        case.reals(reduced::PairProducts::SOLVED, solved.clone());
        case.reals(reduced::PairProducts::BLOCKS, blocks.clone());
        case.poisoned(reduced::PairProducts::PARTIALS, segments * area);
        let (mut starts, mut pairs) = (vec![0], Vec::new());
        for segment in 0..segments {
            let mine: Vec<(u32, Block)> =
                (0..segment % 4).map(|_| (random.below(5) * (rows * inner) as u32, Block::random(columns, inner, 3, random))).collect();
            pairs.extend(mine.iter().flat_map(|(left, block)| [*left, block.word]));
            starts.push((pairs.len() / 2) as u32);
            let places = (0..rows).flat_map(|r| (0..if packed { r + 1 } else { columns }).map(move |c| (r, c)));
            for (place, (r, c)) in places.enumerate() {
                let product = |(left, block): &(u32, Block)| -> Value {
                    (0..inner).map(|k| Value::from(solved[*left as usize + r * inner + k]) * block.at(&blocks, c, k).into()).sum()
                };
                case.expect(reduced::PairProducts::PARTIALS, segment * area + place, mine.iter().map(product).sum::<Value>());
            }
        }
        // Three words before them.
        let at = 3 + starts.len() as u32;
        let args = reduced::PairProducts {
            rows: rows as u32,
            columns: columns as u32,
            inner: inner as u32,
            packed: u32::from(packed),
            starts: 3,
            pairs: at,
        };
        case.dispatch((segments * area) as u32, args);
        case.indices([vec![0; 3], starts, pairs].concat());
        case
    };
    [(9, 9, 3, true), (6, 1, 3, false), (2, 3, 2, false)].into_iter().map(|sizes| one(sizes, random)).collect()
}

pub fn complement(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |area: usize, again: bool, random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedComplement, format!("{area} entries, again {again}"));
        let (rows, first, sums) = (size.div_ceil(area), 3, 6);
        let (blocks, partials) = (random.vector(4 * area), random.vector(sums * area));
        let before = random.vector(first + rows * area);
        case.reals(reduced::Complement::BLOCKS, blocks.clone());
        case.reals(reduced::Complement::PARTIALS, partials.clone());
        case.reals(reduced::Complement::COMPLEMENT, before.clone());
        let (mut segments, mut origins) = (Vec::new(), Vec::new());
        for row in 0..rows {
            segments.push(random.below(sums as u32));
            let origin = (row % 3 != 0).then(|| random.below(4) * area as u32);
            origins.push(origin.unwrap_or(u32::MAX));
        }
        segments.sort_unstable();
        segments.push(sums as u32);
        for row in 0..rows {
            for place in 0..area {
                let of = segments[row] as usize..segments[row + 1] as usize;
                let taken: Value = of.map(|segment| Value::from(partials[segment * area + place])).sum();
                let value = match origins[row] {
                    _ if again => before[first + row * area + place],
                    u32::MAX => 0.0,
                    origin => blocks[origin as usize + place],
                };
                case.expect(reduced::Complement::COMPLEMENT, first + row * area + place, Value::from(value) - taken);
            }
        }
        let args = reduced::Complement {
            size: area as u32,
            first: first as u32,
            segments: 1,
            origins: 1 + segments.len() as u32,
            again: u32::from(again),
        };
        case.dispatch((rows * area) as u32, args);
        case.indices([vec![0], segments, origins].concat());
        case
    };
    vec![one(45, false, random), one(6, false, random), one(6, true, random)]
}
