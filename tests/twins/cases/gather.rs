use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, system};
use leastwise::program::NEGATIVE;
use leastwise::solve::state::{ALWAYS, SOLVED};

/// One incidence list of a chunk.
struct List {
    width: usize,
    /// First element of the table in the vector, and its variables.
    base: usize,
    variables: usize,
    slots: usize,
    /// Whether sums take the place of what was there.
    stores: bool,
}

/// Two chunks of one table and one of another, all from the same columns: as a solver does it, but in one buffer.
/// `size` is the number of rows that the largest list has.
pub fn gather(size: usize, width: usize, random: &mut Random) -> Case {
    let guard = if width.is_multiple_of(2) { ALWAYS } else { SOLVED };
    let mut case = Case::new(StaticKernel::SystemGather, format!("width {width}"));
    case.stop = Some((guard, 1.0));
    let rows = size.div_ceil(width);
    let instances = rows + 3;
    let columns = 5;
    let values = random.vector(columns * instances);
    // Two of three variables take part.
    let variables = rows * 3 / 2 + 1;
    let second = 7 + variables * width + 11;
    let other = 40;
    case.reals(system::Gather::COLUMNS, values.clone());
    case.reals(system::Gather::TOTAL, random.vector(second + other * 4 + 3));
    case.reals(system::Gather::STATE, random_state(random, &[(guard, 0.0)]));
    let lists = [
        List { width, base: 7, variables, slots: 3, stores: false },
        List { width, base: 7, variables, slots: 1, stores: false },
        List { width: 4, base: second, variables: other, slots: 2, stores: random.below(2) == 0 },
    ];
    let mut words = vec![NEGATIVE | 1; 3];
    for list in lists {
        add(&mut case, &mut words, &list, instances, columns, &values, guard, random);
    }
    case.indices(words);
    case
}

#[expect(clippy::too_many_arguments, reason = "a loop's body with a name")]
fn add(
    case: &mut Case,
    words: &mut Vec<u32>,
    list: &List,
    instances: usize,
    columns: usize,
    values: &[f64],
    guard: u32,
    random: &mut Random,
) {
    let List { width, base, variables, slots, stores } = *list;
    let bits = [0, 0, 1, 2][slots];
    // A component may have no column, or share one with another, with either sign.
    let codes: Vec<u32> = (0..slots * width)
        .map(|_| match random.below(4) {
            0 => 0,
            1 => (random.below(columns as u32) + 1) | NEGATIVE,
            _ => random.below(columns as u32) + 1,
        })
        .collect();
    let mut incident: Vec<Vec<(usize, usize)>> = vec![Vec::new(); variables];
    for instance in 0..instances {
        for slot in 0..slots {
            let variable = random.below(variables as u32) as usize / 3 * 3 + random.below(2) as usize;
            // An instance may use a variable twice.
            incident[variable.min(variables - 1)].push((instance, slot));
        }
    }
    let map = words.len() as u32;
    words.extend(&codes);
    let touched: Vec<usize> = (0..variables).filter(|variable| !incident[*variable].is_empty()).collect();
    let starts = words.len() as u32;
    let mut first = 0;
    for variable in &touched {
        words.push(first);
        first += incident[*variable].len() as u32;
    }
    words.push(first);
    let ids = words.len() as u32;
    words.extend(touched.iter().map(|variable| *variable as u32));
    let entries = words.len() as u32;
    words.extend(incident.iter().flatten().map(|(instance, slot)| (*instance << bits | slot) as u32));

    let args = system::Gather {
        width: width as u32,
        columns: map,
        starts,
        ids,
        entries,
        slot_bits: bits,
        length: instances as u32,
        first: base as u32,
        guard,
        store: u32::from(stores),
    };
    case.dispatch((touched.len() * width) as u32, args);
    for variable in touched {
        for component in 0..width {
            let of = |&(instance, slot): &(usize, usize)| match codes[slot * width + component] {
                0 => Value::default(),
                code => {
                    let value = Value::from(values[((code & !NEGATIVE) as usize - 1) * instances + instance]);
                    if code & NEGATIVE != 0 { -value } else { value }
                }
            };
            let at = base + variable * width + component;
            let sum = incident[variable].iter().map(of).sum();
            case.expect(system::Gather::TOTAL, at, if stores { sum } else { case.latest(system::Gather::TOTAL, at) + sum });
        }
    }
}
