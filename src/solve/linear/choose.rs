//! Which linear solver a problem gets: a pure function of its structure, its sizes and a table of thresholds.

use super::super::assembly::{Structure, structure};
use super::direct::{self, Direct, Found};
use super::eliminable::{eliminable_of, may_eliminate, why_schur};
use super::reduced::formed::{self, Room};
use super::reduced::worth::{Counts, Weighed};
use super::thresholds::Thresholds;
use super::two_level::{self, space::Space};
use super::{Choice, DeviceSolver, Linear, Plan, Planning, Preconditioner, Wanted, merged, reduced, sizes};
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::{BufferId, Device, Profile, Reals};
use leastwise_error::Error;
use leastwise_linear::elimination;
use leastwise_linear::sparse::{Ordering, Unfactorised};
use leastwise_linear::unblocked::{Masks, Unblocked};
use leastwise_problem::{Batch, BlockRows, Links, Pattern, Problem, Registry};

/// Whether √W J can be brought back row by row: none of the rows goes through sums over entries, no loss bends W, and
/// nothing is an energy.
pub fn has_rows(problem: &Problem) -> bool {
    let rows: u64 = problem.enabled_batches().map(|batch| u64::from(batch.count()) * u64::from(batch.programs.rows)).sum();
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let thresholds = Thresholds::default();
    unknowns <= thresholds.qr && rows <= thresholds.qr_rows.into() && problem.enabled_batches().all(Batch::is_plain)
}

/// The tables to eliminate, by their numbers in the pattern: those that were given, else those that are found.
pub fn eliminated(pattern: &Pattern, wanted: &Wanted) -> Result<Vec<u32>, Error> {
    let Some(given) = &wanted.eliminate else {
        let found = elimination::detect(pattern);
        if found.is_empty() {
            let message = "linear \"schur\": nothing can be eliminated: residuals touch two instances of every variable. Use \"sparse-cholesky\" or \"pcg\"";
            return Err(Error::InvalidOption(message.into()));
        }
        return Ok(found);
    };
    let mut tables = Vec::new();
    for &number in given {
        let place = pattern.tables.iter().position(|rows| rows.table == number);
        let message = "eliminate: only variables of this problem can be eliminated, not constants";
        tables.push(place.ok_or_else(|| Error::InvalidOption(message.into()))? as u32);
    }
    tables.sort_unstable();
    tables.dedup();
    if tables.is_empty() || tables.len() == pattern.tables.len() {
        return Err(Error::InvalidOption("eliminate: name some of the problem's variables, but not all".into()));
    }
    Ok(tables)
}

/// Refuses what was asked for where tables and terms alone tell that it is impossible.
pub fn check(wanted: &Wanted, problem: &Problem) -> Result<(), Error> {
    if wanted.linear == Some(Linear::Dense) {
        sizes::dense(problem.moving().map(|table| u64::from(table.unknowns())).sum())?;
    }
    if wanted.linear.is_some_and(Linear::eliminates) && wanted.eliminate.is_some() {
        eliminated(&Pattern::of_tables(problem.tables()), wanted)?;
    }
    let has_sums = problem.terms().any(|term| term.enabled && term.entries.is_some());
    match wanted.linear.filter(|linear| has_sums && linear.is_on_host()) {
        Some(linear) => Err(direct::not_assembled(linear)),
        None if has_sums && wanted.preconditioner == Some(Preconditioner::TwoLevel) => Err(two_level::refused(two_level::OF_SUMS)),
        None => Ok(()),
    }
}

/// A problem's linear solver.
pub struct Made {
    /// The linear solver, its preconditioner, and the reasons for both.
    pub choice: Choice,
    /// Where the system is solved on the host.
    pub host: Option<Box<Direct>>,
    /// Solver on the device besides conjugate gradients with diagonal blocks, if there is one.
    pub on_device: Option<Box<dyn DeviceSolver>>,
}

impl Made {
    /// Every buffer of the solver.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let of_host = self.host.iter().flat_map(|host| host.buffers());
        of_host.chain(self.on_device.iter().flat_map(|solver| solver.buffers().to_vec()))
    }
}

/// Facts that decide besides the problem's links.
#[derive(Clone, Copy)]
pub struct Facts {
    profile: Profile,
    /// Elements of a buffer binding.
    elements: u64,
    /// Whether √W J of few unknowns can be brought back row by row.
    has_rows: bool,
    /// The device's room for Schur complements, where it forms them.
    forms: Option<Room>,
}

impl Facts {
    /// Facts about a problem on a device.
    pub fn new(device: &Device, problem: &Problem) -> Self {
        let (limits, real) = (device.limits(), device.precision().bytes());
        // On the CPU the host's own elimination is as near, and double-floats are better off in f64.
        let forms = device.profile() != Profile::Cpu && device.reals() == Reals::Single;
        let forms = forms.then_some(Room { binding: limits.binding_bytes.min(limits.buffer_bytes), real });
        Self { profile: device.profile(), elements: limits.binding_bytes / real, has_rows: has_rows(problem), forms }
    }

    /// The room for Schur complements of many unknowns, where the choice looks at these: the one thread of a page would plan for longer than
    /// iterations take.
    fn forms_many(&self) -> Option<Room> {
        self.forms.filter(|_| cfg!(not(target_arch = "wasm32")))
    }
}

/// The linear solver on the host that was chosen. Where there is no room for it and nothing was asked for, the choice instead of it: the
/// one that was weighed beside it, or the one that always fits.
pub fn on_host(
    wanted: &Wanted,
    (mut choice, found): (Choice, Option<Found>),
    device: &mut Device,
    registry: &mut Registry,
    problem: &Problem,
) -> Result<Result<Made, Choice>, Error> {
    let found = match found {
        Some(Found { structure, formed: Some(plan), instead: Some(instead) }) => {
            return match Direct::formed(device, registry, problem, structure, plan) {
                Ok(host) => Ok(Ok(Made { choice, host: Some(Box::new(host)), on_device: None })),
                Err(why) if direct::is_of_room(&why) => {
                    Ok(Err(Choice { why: format!("{}; S is not formed: {why}", instead.why), ..instead }))
                }
                Err(error) => Err(error),
            };
        }
        found => found,
    };
    let is_planned = found.as_ref().is_some_and(|found| found.formed.is_some());
    match Direct::new(device, registry, problem, choice.linear, wanted, found) {
        Ok((host, refused)) => {
            if is_planned {
                let place = refused.map_or("the device".into(), |why| format!("the host: {why}"));
                choice.why = format!("{}, S is formed on {place}", choice.why);
            }
            let usual = || (Preconditioner::BlockJacobi, "a factor is asked for by name".into());
            let asked = wanted.preconditioner.map(|preconditioner| (preconditioner, "it was asked for".into()));
            choice.preconditioner = (choice.linear == Linear::AssembledPcg).then(|| asked.unwrap_or_else(usual));
            Ok(Ok(Made { choice, host: Some(Box::new(host)), on_device: None }))
        }
        Err(why) if direct::is_of_room(&why) && wanted.linear.is_none() && wanted.preconditioner.is_none() => {
            Ok(Err(Choice { linear: Linear::Pcg, why: why.to_string(), preconditioner: None }))
        }
        Err(error) => Err(error),
    }
}

/// Conjugate gradients on the device, by the solver that was planned, if one was.
pub fn on_device(
    wanted: &Wanted,
    mut choice: Choice,
    (preconditioner, why): (Preconditioner, String),
    plan: Option<Result<Box<dyn Plan>, Error>>,
    (device, registry, problem): (&mut Device, &mut Registry, &Problem),
) -> Result<Made, Error> {
    let made = plan.map(|plan| plan?.make(device, registry, problem)).transpose();
    let is_asked = wanted.preconditioner.is_some() || wanted.linear == Some(Linear::SchurPcg);
    let (preconditioner, why, on_device) = match made {
        Ok(solver) => (preconditioner, why, solver),
        // What products of batches stay apart for is nobody's concern.
        Err(error) if is_by_blocks(choice.linear, preconditioner) && direct::is_of_room(&error) => (preconditioner, why, None),
        Err(error) if !is_asked && (direct::is_of_room(&error) || matches!(error, Error::InvalidOption(_))) => {
            let refused = error.to_string();
            if choice.linear == Linear::SchurPcg {
                choice = Choice { linear: Linear::Pcg, why: format!("{}, but {refused}", choice.why), preconditioner: None };
            }
            (Preconditioner::BlockJacobi, refused, None)
        }
        Err(error) => return Err(error),
    };
    choice.preconditioner = Some((preconditioner, why));
    Ok(Made { choice, host: None, on_device })
}

/// True for conjugate gradients with diagonal blocks alone.
fn is_by_blocks(linear: Linear, preconditioner: Preconditioner) -> bool {
    linear == Linear::Pcg && preconditioner == Preconditioner::BlockJacobi
}

/// True where a term sums over entries.
pub(super) fn has_sums(problem: &Problem) -> bool {
    problem.enabled_batches().any(|batch| batch.sums.is_some())
}

/// Preconditioner of conjugate gradients on the device for this problem, and why; with the planning of the solver, where that takes one.
pub fn precondition(
    (wanted, linear): (&Wanted, Linear),
    problem: &Problem,
    device: &Device,
) -> Result<((Preconditioner, String), Option<Planning>), Error> {
    let (chosen, planning) = preconditioner((wanted, linear), problem, device)?;
    let merges = is_by_blocks(linear, chosen.0);
    let planning = planning.or_else(|| if merges { merged::plan(device, problem) } else { None });
    Ok((chosen, planning))
}

fn preconditioner(
    (wanted, linear): (&Wanted, Linear),
    problem: &Problem,
    device: &Device,
) -> Result<((Preconditioner, String), Option<Planning>), Error> {
    if linear == Linear::SchurPcg {
        let usual = || match wanted.linear {
            Some(_) => (Preconditioner::SchurJacobi, "the usual one of a Schur complement".into()),
            None => (Preconditioner::BlockJacobi, "no set-up: bundles came to a cost sooner than with the blocks of S".into()),
        };
        let chosen = wanted.preconditioner.map_or_else(usual, |preconditioner| (preconditioner, "it was asked for".into()));
        let planning = reduced::plan(device, problem, wanted.eliminate.clone(), chosen.0);
        return Ok((chosen, Some(planning)));
    }
    if let Some(preconditioner) = wanted.preconditioner {
        return Ok(((preconditioner, "it was asked for".into()), preconditioner.plan(device, problem)?));
    }
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let least = Thresholds::default().two_level;
    let by_blocks = |why: String| Ok(((Preconditioner::BlockJacobi, why), None));
    if unknowns < least {
        return by_blocks(format!("{unknowns} unknowns, fewer than {least}, from which on fewer iterations are worth two levels"));
    }
    if has_sums(problem) {
        return by_blocks("a term sums over entries, so there are no pairs of variables".into());
    }
    match Space::new(problem) {
        Ok(space) if space.coordinates > 0 && !space.holds_shape => {
            by_blocks("residuals that link points know lengths alone, which hold no shape".into())
        }
        Ok(space) if space.coordinates > 0 => {
            let coordinates = space.coordinates;
            let why =
                format!("{unknowns} unknowns, at least {least}, and patches of points that move as bodies in {coordinates} dimensions");
            Ok(((Preconditioner::TwoLevel, why), Some(two_level::plan(device, problem, space))))
        }
        Ok(_) => by_blocks("no variables are points, of which residuals see differences".into()),
        Err(why) => by_blocks(why),
    }
}

fn choice(linear: Linear, why: String) -> Choice {
    Choice { linear, why, preconditioner: None }
}

/// The linear solver that was asked for, by its name or by that of a preconditioner.
fn named_linear(wanted: &Wanted) -> Option<Linear> {
    wanted.linear.or_else(|| wanted.preconditioner.map(|preconditioner| preconditioner.linears()[0]))
}

/// What was asked for, or what few unknowns get.
fn named(wanted: &Wanted, links: &Links) -> Option<Choice> {
    let asked = wanted.linear.map(|linear| choice(linear, "it was asked for".into()));
    let implied = || {
        let named = wanted.preconditioner?;
        Some(choice(named.linears()[0], format!("it is what \"{}\" is for", named.name())))
    };
    let unknowns = links.unknowns();
    let is_small = !links.has_sums() && unknowns <= Thresholds::default().dense;
    asked.or_else(implied).or_else(|| is_small.then(|| choice(Linear::Dense, format!("{unknowns} unknowns"))))
}

/// Unknowns of which a matrix is thought of at all.
fn most_on_host(profile: Profile) -> u32 {
    let limits = Thresholds::default();
    if profile == Profile::Cpu { limits.host } else { limits.host_of_gpu }
}

/// What solves this problem's systems, where neither the choice nor the solver takes the structure of the matrix.
pub fn at_once(wanted: &Wanted, links: &Links, facts: Facts) -> Option<Choice> {
    let unknowns = links.unknowns();
    if let Some(choice) = named(wanted, links) {
        // Rows need none, and what is refused for its size has none.
        let is_assembled = match choice.linear {
            Linear::Dense => !facts.has_rows && sizes::dense(unknowns.into()).is_ok(),
            linear => linear.is_on_host(),
        };
        return (!is_assembled).then_some(choice);
    }
    if links.has_sums() {
        return Some(choice(Linear::Pcg, "a term sums over entries, so JᵀWJ can't be assembled".into()));
    }
    let most = most_on_host(facts.profile);
    (unknowns > most && eliminable_of(links).is_empty()).then(|| too_many(unknowns, most))
}

/// Choice for more unknowns than are thought of on the host, of which most can be eliminated, where nothing is formed: counts tell, and no
/// structure is taken. The links come back where it is another problem.
pub fn by_counts(wanted: &Wanted, links: Links, facts: Facts) -> Result<Task<'static, Result<Choice, Stopped>>, Links> {
    let (unknowns, most) = (links.unknowns(), most_on_host(facts.profile));
    let is_open = named(wanted, &links).is_none() && !links.has_sums() && unknowns > most && facts.forms_many().is_none();
    let gone = if is_open { eliminable_of(&links) } else { Vec::new() };
    if gone.is_empty() {
        return Err(links);
    }
    let jacobian = sizes::of_jacobian(&links);
    Ok(reduced::worth::weighing(too_many(unknowns, most), links, gone, (jacobian, facts.profile)))
}

fn too_many(unknowns: u32, most: u32) -> Choice {
    choice(Linear::Pcg, format!("{unknowns} unknowns, more than {most}"))
}

/// What a solve may come to besides conjugate gradients on the device, as far as it is known before anything is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Whether a linear solver on the host may be chosen, or looked at for the choice.
    pub host: bool,
    /// Whether conjugate gradients may have two levels.
    pub two_level: bool,
    /// Whether they may be those on a Schur complement.
    pub reduced: bool,
}

impl Reach {
    /// The linear solvers that the options and the number of unknowns leave open.
    pub fn new(wanted: &Wanted, problem: &Problem, profile: Profile) -> Self {
        let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
        let named = named_linear(wanted);
        let eliminates = named.is_none() && may_eliminate(problem);
        Self {
            reduced: named == Some(Linear::SchurPcg) || named == Some(Linear::Schur) && profile != Profile::Cpu || eliminates,
            // The choice itself is made there, too.
            host: named.map_or(unknowns <= most_on_host(profile), Linear::is_on_host),
            two_level: match wanted.preconditioner {
                Some(preconditioner) => preconditioner == Preconditioner::TwoLevel,
                None => unknowns >= Thresholds::default().two_level,
            },
        }
    }
}

/// What solves this problem's systems: what was asked for, else the best for its structure and size. With the structure, where one is
/// assembled.
pub async fn choose(wanted: &Wanted, links: &Links, facts: Facts, pace: &Pace) -> Result<(Choice, Option<Found>), Stopped> {
    if let Some(choice) = at_once(wanted, links, facts) {
        return Ok((choice, None));
    }
    let (gone, named) = (eliminable_of(links), named(wanted, links));
    let most = most_on_host(facts.profile);
    if named.is_none()
        && links.unknowns() > most
        && let Some(room) = facts.forms_many()
    {
        return choose_of_many(too_many(links.unknowns(), most), links, (facts, room), pace).await;
    }
    // Parts of a module that form a Schur complement are there where terms tell that it may be one.
    let forms = facts.forms.filter(|_| named.is_some() || !gone.is_empty());
    let (choice, structure) = match named {
        Some(choice) => (choice, structure(links, pace).await?),
        None => choose_by_structure(links, facts, pace).await?,
    };
    match (choice.linear, structure, forms) {
        (Linear::Schur, Some(structure), Some(room)) => choose_where_formed(wanted, links, (choice, structure), room, pace).await,
        (Linear::Pcg, ..) if named_linear(wanted).is_none() => choose_reduced(choice, links, facts, pace).await,
        (_, structure, _) => Ok((choice, structure.map(|structure| Found { structure, formed: None, instead: None }))),
    }
}

/// Conjugate gradients on the Schur complement instead of those on the whole matrix, where they cost less.
async fn choose_reduced(instead: Choice, links: &Links, facts: Facts, pace: &Pace) -> Result<(Choice, Option<Found>), Stopped> {
    let gone = eliminable_of(links);
    // Elsewhere the part of a module that knows is not there.
    if gone.is_empty() {
        return Ok((instead, None));
    }
    Ok((reduced::worth::weighed(instead, links, &gone, (sizes::of_jacobian(links), facts.profile), pace).await?.choice, None))
}

/// The choice for more unknowns than are thought of on the host, on a device that forms Schur complements: one that is formed, where that
/// costs less than iterations.
async fn choose_of_many(
    instead: Choice,
    links: &Links,
    (facts, room): (Facts, Room),
    pace: &Pace,
) -> Result<(Choice, Option<Found>), Stopped> {
    let gone = eliminable_of(links);
    let Weighed { mut choice, named, counts } =
        reduced::worth::weighed(instead, links, &gone, (sizes::of_jacobian(links), facts.profile), pace).await?;
    let why = match counts.why_not_formed(facts.profile) {
        Some(why) => why,
        None => {
            let Some(structure) = structure(links, pace).await? else { return Ok((choice, None)) };
            match planned(links, &structure.0, (&gone, counts), (facts, room), pace).await? {
                Ok(plan) => {
                    let pairs = plan.pairs;
                    let why = format!(
                        "{named} can be eliminated, and {pairs:.1e} products and a factor cost less than iterations, S is formed on the device"
                    );
                    let found = Found { structure, formed: Some(plan), instead: Some(choice) };
                    return Ok((Choice { linear: Linear::Schur, why, preconditioner: None }, Some(found)));
                }
                Err(why) => why,
            }
        }
    };
    choice.why = format!("{}; S is not formed: {why}", choice.why);
    Ok((choice, None))
}

/// The plan of a Schur complement without these tables, where by the counts of this structure it costs less than iterations; or why not.
async fn planned(
    links: &Links,
    pattern: &Pattern,
    (gone, counts): (&[u32], Counts),
    (facts, room): (Facts, Room),
    pace: &Pace,
) -> Result<Result<formed::Plan, String>, Stopped> {
    if pattern.values > facts.elements / 2 {
        return Ok(Err(format!("JᵀWJ has {:.1e} values off its diagonal", pattern.values as f64)));
    }
    let tables: Vec<u32> = (0..).zip(&pattern.tables).filter(|(_, rows)| gone.contains(&rows.table)).map(|(number, _)| number).collect();
    let linking = pattern.parts.iter().filter(|part| tables.contains(&part.row) != tables.contains(&part.column));
    let links_of_structure = linking.map(|part| f64::from(part.blocks())).sum();
    let pairs = elimination::work(pattern, &tables);
    match (Counts { links: links_of_structure, ..counts }).most_work(facts.profile, pairs) {
        Ok(most_work) => formed::Plan::new(links, pattern, &tables, (room, pairs, most_work), pace).await,
        Err(why) => Ok(Err(why)),
    }
}

/// Decides where the Schur complement is formed: by the device, unless its lists are too large.
async fn choose_where_formed(
    wanted: &Wanted,
    links: &Links,
    (mut choice, structure): (Choice, Structure),
    room: Room,
    pace: &Pace,
) -> Result<(Choice, Option<Found>), Stopped> {
    let pattern = &structure.0;
    // What is refused is refused when the solver is made.
    let tables = eliminated(pattern, wanted).ok().filter(|tables| elimination::check(pattern, tables).is_ok());
    let mut formed = None;
    if let Some(tables) = tables {
        let pairs = elimination::work(pattern, &tables);
        match formed::Plan::new(links, pattern, &tables, (room, pairs, f64::INFINITY), pace).await? {
            Ok(plan) => formed = Some(plan),
            Err(why) => choice.why = format!("{}, S is formed on the host: {why}", choice.why),
        }
    }
    Ok((choice, Some(Found { structure, formed, instead: None })))
}

/// The best of what takes the structure of the matrix, else conjugate gradients on the device.
async fn choose_by_structure(links: &Links, facts: Facts, pace: &Pace) -> Result<(Choice, Option<Structure>), Stopped> {
    let chosen = |linear: Linear, why: String| Ok((choice(linear, why), None));
    let on_gpu = facts.profile != Profile::Cpu;
    if let Some(why) = sizes::too_full(links, on_gpu, pace).await? {
        return chosen(Linear::Pcg, why);
    }
    let Some(found) = structure(links, pace).await? else {
        return chosen(Linear::Pcg, "JᵀWJ can't be assembled".into());
    };
    let (linear, why) = choose_for(&found.0, links, facts, pace).await?;
    Ok((choice(linear, why), linear.is_on_host().then_some(found)))
}

/// Of every table, which entries of its diagonal blocks can be other than 0, as far as programs tell.
pub(super) fn masks(pattern: &Pattern, links: &Links) -> Masks {
    let mask = |rows: &BlockRows| {
        let mut mask = vec![false; (rows.width * (rows.width + 1) / 2) as usize];
        for batch in &links.batches {
            let mine: Vec<u32> = batch.moving_slots().iter().filter(|slot| slot.1 == rows.table).map(|slot| slot.0).collect();
            // Where an instance names a variable twice its slots meet in the block.
            if mine.len() > 1 {
                return None;
            }
            for slot in mine {
                let codes = &batch.programs.diagonal_maps[slot as usize].codes;
                mask.iter_mut().zip(codes).for_each(|(there, code)| *there |= *code != 0);
            }
        }
        Some(mask)
    };
    pattern.tables.iter().map(mask).collect()
}

/// The best solver for a structure.
async fn choose_for(pattern: &Pattern, links: &Links, facts: Facts, pace: &Pace) -> Result<(Linear, String), Stopped> {
    let chosen = |linear: Linear, why: String| Ok((linear, why));
    let limits = Thresholds::default();
    let on_gpu = facts.profile != Profile::Cpu;
    let unknowns = links.unknowns();
    if pattern.values > facts.elements / 2 {
        return chosen(Linear::Pcg, format!("JᵀWJ has {:.1e} values off its diagonal", pattern.values as f64));
    }
    if let Some(why) = why_schur(pattern, unknowns) {
        return chosen(Linear::Schur, why);
    }
    let is_redundant = !on_gpu && sizes::of_jacobian(links) > limits.redundancy * (pattern.values + u64::from(pattern.blocks_len)) as f64;
    let unblocked = Unblocked::new(pattern, &masks(pattern, links));
    let pattern = unblocked.as_ref().map_or(pattern, |unblocked| &*unblocked.pattern);
    // A factor has the matrix's entries at least: where they are too many, no order of elimination has to be found.
    let least = pattern.values as f64 + f64::from(pattern.scalars);
    if least > limits.fill && !is_redundant {
        return chosen(Linear::Pcg, format!("at least {least:.1e} entries in a factor, more than {:.0e}", limits.fill));
    }
    let ordering = if least > limits.fill { Err(Unfactorised::TooLarge) } else { Ordering::new(pattern, pace).await };
    match ordering {
        Err(Unfactorised::Stopped) => Err(Stopped),
        Ok(ordering) if ordering.fill <= limits.fill && ordering.work <= limits.work => {
            chosen(Linear::SparseCholesky, format!("about {:.1e} entries in the factor", ordering.fill))
        }
        _ if is_redundant => chosen(Linear::AssembledPcg, "a factor would be too large, and J has many more values than JᵀWJ".into()),
        Ok(ordering) if ordering.fill > limits.fill => {
            chosen(Linear::Pcg, format!("about {:.1e} entries in a factor, more than {:.0e}", ordering.fill, limits.fill))
        }
        Ok(ordering) => chosen(Linear::Pcg, format!("about {:.1e} multiplications a factor, more than {:.0e}", ordering.work, limits.work)),
        Err(_) => chosen(Linear::Pcg, "a factor would be too large".into()),
    }
}
