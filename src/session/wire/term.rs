//! Terms, shapes and losses of what was packed. They cross as words, because a hundred thousand small terms must not
//! take a second.

use super::packed::{self, TermKind};
use super::reader::Reader;
use crate::{FitSpec, Session};
use leastwise_base::parallel;
use leastwise_error::Error;
use leastwise_problem::{
    Column, EntryColumn, Loss, RaggedSlot, RaggedSpec, Reals, Relation, Shape, Slot, SummedSpec, TermSpec, Trace, Weight,
};
use leastwise_program::{FitWeights, Objective};

/// Loss, as `setLoss` takes it.
pub fn loss(words: &[u32], reals: &[f64]) -> Result<Loss, Error> {
    let mut from = Reader::new("a loss", words, reals, "");
    let packed = from.read()?;
    from.finish()?;
    made(packed)
}

fn made(packed: packed::Loss) -> Result<Loss, Error> {
    match packed {
        packed::Loss::Trivial => Ok(Loss::trivial()),
        packed::Loss::Scaled { factor, of } => Loss::scaled(&made(*of)?, factor),
        packed::Loss::Composed { outer, inner } => Ok(Loss::composed(&made(*outer)?, &made(*inner)?)),
        packed::Loss::Traced { parameters, output, tape } => Loss::traced(tape, output, parameters),
        packed::Loss::Other { kind, parameters } => Loss::built_in(kind, parameters),
    }
}

/// Model of many small fits.
pub fn fit<'a>(words: &'a [u32], reals: &'a [f64]) -> Result<FitSpec<'a>, Error> {
    let mut from = Reader::new("a model of fits", words, reals, "");
    let packed: packed::FitModel<'a> = from.read()?;
    from.finish()?;
    Ok(FitSpec {
        parameters: packed.parameters,
        free: packed.free,
        common: packed.common,
        shared: packed.shared,
        weights: match packed.weights {
            packed::FitWeights::None => FitWeights::None,
            packed::FitWeights::Shared => FitWeights::Shared,
            packed::FitWeights::Each => FitWeights::Each,
        },
        ragged: packed.ragged,
        bounded: packed.bounded,
        poisson: packed.poisson,
        loss: packed.loss.map(made).transpose()?,
        tape: packed.tape,
        output: packed.output,
    })
}

/// Shapes one after the other. What no instance could be is the table's to refuse.
pub fn shapes(words: &[u32]) -> Result<Vec<Shape>, Error> {
    let mut from = Reader::new("a shape", words, &[], "");
    let mut shapes = Vec::new();
    while !from.is_over() {
        shapes.push(match from.read()? {
            packed::Shape::Euclidean { width } => Shape::Euclidean(width),
            packed::Shape::Subset { width, constant } => Shape::Subset { width, constant: constant.to_vec() },
            packed::Shape::Sphere { width } => Shape::Sphere(width),
            packed::Shape::Quaternion => Shape::Quaternion,
            packed::Shape::So2 => Shape::So2,
            packed::Shape::Se2 => Shape::Se2,
            packed::Shape::Se3 => Shape::Se3,
            packed::Shape::Sim3 => Shape::Sim3,
            packed::Shape::Traced { ambient, tangent, tape, outputs } => {
                Shape::Traced { ambient, tangent, tape: tape.to_vec(), outputs: outputs.to_vec() }
            }
        });
    }
    Ok(shapes)
}

/// A term is one of these.
enum Spec<'a> {
    Plain(TermSpec<'a>),
    Constraint(TermSpec<'a>, Relation),
    Ragged(RaggedSpec<'a>, Option<Relation>),
    Summed(SummedSpec<'a>),
}

/// Term as it crosses (`ts/src/wire.ts`).
#[derive(Clone, Copy)]
pub struct CrossedTerm<'a> {
    /// Names of its columns, those of entries last, with a NUL after each.
    pub columns: &'a str,
    /// Words of `packTerm`, and of its traces.
    pub words: &'a [u32],
    /// Reals that the words speak of.
    pub reals: &'a [f64],
    /// Index table of which columns are taken, row by row; none where all columns are among the words.
    pub over: Option<&'a [u32]>,
    /// The first of the longest lists of reals, if it is not among them.
    pub longest: Option<&'a [f64]>,
}

/// Index columns of all instances, among the words or taken from the table; none where they are not complete.
fn index_columns(packed: &packed::Term, table: &[u32], count: usize) -> Option<Vec<Vec<u32>>> {
    let (mut over, width) = (packed.over.iter(), table.len() / count.max(1));
    let mut columns = Vec::new();
    for own in &packed.indices {
        let next = if own.is_empty() { over.next() } else { None };
        let (from, first, stride) = next.map_or((*own, 0, 1), |first| (table, *first as usize, width));
        if first >= stride || from.len() != count * stride {
            return None;
        }
        let mut column = Vec::new();
        parallel::extend(&mut column, 0..packed.count, |instance| from[first + instance as usize * stride]);
        columns.push(column);
    }
    over.as_slice().is_empty().then_some(columns)
}

fn spec<'a>(name: &str, crossed: &CrossedTerm<'a>) -> Result<Spec<'a>, Error> {
    let mut from = Reader::new("a term", crossed.words, crossed.reals, crossed.columns).with_longest(crossed.longest);
    let packed: packed::Term = from.read()?;
    from.finish()?;
    let weight = match packed.weights {
        each if packed.weighted => Weight::Each(Reals::F64(each)),
        [] => Weight::Shared(1.0),
        &[shared] => Weight::Shared(shared),
        _ => return Err(from.incomplete()),
    };
    let count = packed.count as usize;
    let has_rows = !packed.ragged.is_empty();
    if has_rows && packed.offsets.len() != count + 1 {
        return Err(from.incomplete());
    }
    let indices = index_columns(&packed, crossed.over.unwrap_or_default(), count).ok_or_else(|| from.incomplete())?;
    // A wrong number of values is the term's to refuse.
    let column = |column: &packed::Column<'a>| Column {
        name: column.name.into(),
        width: column.width,
        shared: column.shared,
        values: Reals::F64(column.values),
    };
    let (tape, outputs) = packed.traces.first().map_or((&[][..], &[][..]), |trace| (trace.tape, trace.outputs));
    let plain = TermSpec {
        name: name.into(),
        count: packed.count,
        indices,
        slots: packed.slots.iter().map(|slot| Slot { table: slot.table, column: slot.column }).collect(),
        columns: packed.columns.iter().map(column).collect(),
        weight,
        loss: packed.loss.map(made).transpose()?,
        objective: match packed.kind {
            TermKind::Energy => Objective::Energy,
            TermKind::Curved => Objective::FullCurvature,
            _ => Objective::LeastSquares,
        },
        tape,
        outputs,
    };
    let relation = match packed.kind {
        TermKind::Residual | TermKind::Energy | TermKind::Curved => None,
        TermKind::Zero => Some(Relation::Zero),
        TermKind::AtMostZero => Some(Relation::AtMostZero),
        TermKind::AtLeastZero => Some(Relation::AtLeastZero),
    };
    match relation {
        Some(_) if packed.summed => {
            let message = "a constraint can't sum over rows of any length: take their entries by .rows(…)";
            return Err(Error::InvalidOption(format!("term \"{name}\": {message}")));
        }
        Some(relation) if !has_rows => return Ok(Spec::Constraint(plain, relation)),
        None if !has_rows => return Ok(Spec::Plain(plain)),
        _ => {}
    }
    let offsets = packed.offsets.to_vec();
    let slots = packed.ragged.iter().map(|slot| RaggedSlot { table: slot.table, indices: slot.rows.to_vec() }).collect();
    let columns = packed.entries.iter().map(|column| EntryColumn { name: column.name.into(), values: Reals::F64(column.values) }).collect();
    if packed.summed {
        return Ok(Spec::Summed(SummedSpec { plain, offsets, slots, columns }));
    }
    let trace = |trace: &packed::Trace<'a>| Trace { length: trace.length, tape: trace.tape, outputs: trace.outputs };
    Ok(Spec::Ragged(RaggedSpec { plain, offsets, slots, columns, traces: packed.traces.iter().map(trace).collect() }, relation))
}

impl Session {
    /// Adds a term as `packTerm` of `ts/src/packed.ts` packs it.
    pub fn packed_term(&mut self, problem: u32, name: &str, crossed: &CrossedTerm) -> Result<u32, Error> {
        let term = match spec(name, crossed)? {
            Spec::Plain(spec) => self.term(problem, spec),
            Spec::Constraint(spec, relation) => self.constraint(problem, spec, relation),
            Spec::Summed(spec) => self.summed_term(problem, spec),
            Spec::Ragged(spec, None) => self.ragged_term(problem, spec),
            Spec::Ragged(spec, Some(relation)) => self.ragged_constraint(problem, spec, relation),
        }?;
        #[cfg(target_arch = "wasm32")]
        make_room(term);
        Ok(term)
    }
}

/// Bytes of a small term, about.
#[cfg(target_arch = "wasm32")]
const BYTES_PER_TERM: usize = 1024;

/// Room for as many terms again. The module's memory grows page by page, and with every page the host collects garbage: of
/// a hundred thousand terms that would be most of the time.
#[cfg(target_arch = "wasm32")]
fn make_room(term: u32) {
    // Terms are numbered within their problem.
    let terms = term as usize + 1;
    if terms >= 1024 && terms.is_power_of_two() {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(terms * BYTES_PER_TERM)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_device::cpu::CpuDevice;
    use leastwise_device::{Device, Limits, Precision};
    use leastwise_expr::Opcode;

    const COLUMNS: &str = "k\0";
    const REALS: [f64; 4] = [1.5, 0.5, 3.0, 4.0];

    /// Two instances of x − k with Huber's loss, as `ts/src/packed.ts` packs them. Their index column is given, then those of a table.
    fn packed_over(indices: &[u32]) -> Vec<u32> {
        let input = |number| [Opcode::Input as u32 | 1 << 16, number];
        let tape = [&input(0)[..], &input(1), &[Opcode::Sub as u32 | 2 << 16, 0, 1]].concat();
        let head = [2, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 2, 0, 1];
        [&head[..], indices, &[0, 0, 1, 0, tape.len() as u32], &tape, &[1, 2]].concat()
    }

    fn packed() -> Vec<u32> {
        packed_over(&[2, 1, 0, 0])
    }

    fn crossing<'a>(words: &'a [u32], reals: &'a [f64]) -> CrossedTerm<'a> {
        CrossedTerm { columns: COLUMNS, words, reals, over: None, longest: None }
    }

    fn session() -> (Session, u32) {
        let mut session = Session::new(Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL)));
        let problem = session.problem();
        session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true).unwrap();
        (session, problem)
    }

    #[test]
    fn a_term_is_read_as_it_was_packed() {
        let words = packed();
        let Ok(Spec::Plain(term)) = spec("pull", &crossing(&words, &REALS)) else { panic!("it is no plain term") };
        assert_eq!((term.count, &term.indices[..], term.columns[0].name.as_str()), (2, &[vec![1, 0]][..], "k"));
        assert_eq!(term.loss, Some(Loss::huber(1.5).unwrap()));
        assert_eq!((term.tape.len(), term.outputs), (7, &[2][..]));
        let (mut session, problem) = session();
        session.packed_term(problem, "pull", &crossing(&words, &REALS)).unwrap();
    }

    #[test]
    fn a_column_of_a_table_and_the_longest_list_cross_by_themselves() {
        let (words, given) = (packed_over(&[0, 1, 2]), [3.0, 4.0]);
        let whole = CrossedTerm { over: Some(&[7, 8, 1, 7, 8, 0]), longest: Some(&given), ..crossing(&words, &REALS[..2]) };
        let Ok(Spec::Plain(term)) = spec("pull", &whole) else { panic!("it is no plain term") };
        assert_eq!(term.indices, [[1, 0]]);
        assert!(matches!(term.columns[0].values, Reals::F64(values) if values == given) && matches!(term.weight, Weight::Shared(0.5)));
        let (mut session, problem) = session();
        session.packed_term(problem, "pull", &whole).unwrap();
        let mut code = |crossed: CrossedTerm| session.packed_term(problem, "again", &crossed).map_err(|error| error.code());
        let lists: [&[u32]; 6] = [&[], &[1, 0], &[1, 0, 1], &[1, 0, 7, 8], &[7, 8, 1, 7, 8], &[7, 8, 1, 7, 8, 0, 0]];
        for over in lists {
            assert_eq!(code(CrossedTerm { over: Some(over), ..whole }), Err("invalid-option"), "{over:?}");
        }
        for longest in [None, Some(&given[..1]), Some(&[]), Some(&REALS[..])] {
            assert_eq!(code(CrossedTerm { longest, ..whole }), Err("invalid-option"), "{longest:?}");
        }
        assert_eq!(code(CrossedTerm { over: None, ..whole }), Err("invalid-option"));
        // All weigh 1 where no weight is given.
        let light = [&words[..6], &[0], &words[7..]].concat();
        let light = CrossedTerm { words: &light, reals: &REALS[..1], ..whole };
        assert!(matches!(spec("pull", &light), Ok(Spec::Plain(TermSpec { weight: Weight::Shared(1.0), .. }))));
        for indices in [&[0, 0][..], &[0, 2, 2, 2], &[2, 1, 0, 1, 2], &[0, 1, 3], &[0, 1, u32::MAX]] {
            assert_eq!(code(CrossedTerm { words: &packed_over(indices), ..whole }), Err("invalid-option"), "{indices:?}");
        }
        assert_eq!(code(CrossedTerm { over: Some(&[7, 8, 1, 7, 8, 2]), ..whole }), Err("index-out-of-range"));
    }

    #[test]
    fn what_is_cut_short_or_unknown_is_refused() {
        let (mut session, problem) = session();
        let words = packed();
        let mut code =
            |words: &[u32], reals: &[f64]| session.packed_term(problem, "pull", &crossing(words, reals)).map_err(|error| error.code());
        for end in 0..words.len() {
            assert_eq!(code(&words[..end], &REALS), Err("invalid-option"), "{end} words");
        }
        for end in 0..REALS.len() {
            assert_eq!(code(&words, &REALS[..end]), Err("invalid-option"), "{end} reals");
        }
        assert_eq!(code(&[&words[..], &[0]].concat(), &REALS), Err("invalid-option"));
        for (place, unknown) in [(1, 6), (2, 2), (3, 2), (4, 13), (5, 2), (12, 2)] {
            let mut words = words.clone();
            words[place] = unknown;
            assert_eq!(code(&words, &REALS), Err("invalid-option"), "word {place} is {unknown}");
        }
        // Anything else is a term, or is refused: nothing panics.
        for place in 0..words.len() {
            for word in [0, 1, 3, 1 << 16, u32::MAX] {
                let mut words = words.clone();
                words[place] = word;
                if let Ok(term) = session.packed_term(problem, "pull", &crossing(&words, &REALS)) {
                    session.free_term(problem, term).unwrap();
                }
            }
        }
    }
}
