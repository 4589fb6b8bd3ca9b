//! The dispatches of a clustering's kernels.

use super::super::points::Points;
use super::super::state;
use super::{Chunk, Piece, RUNS, Workspace, trials_for};
use leastwise_cpu::twins::{POTENTIALS_ABREAST, SHARE, runs_for, tile};
use leastwise_device::{Arguments, Command, Dispatch, Slice};
use leastwise_kernels::clustering::{anneal, init, lloyd, moves, sort};
use leastwise_kernels::step;

/// Points and keys of a stable sort.
#[derive(Clone, Copy)]
pub struct Sort {
    pub keys_at: u32,
    pub keys: u32,
    pub shift: u32,
    pub mask: u32,
    /// In which order points come; 0, 1, … without.
    pub from: Option<u32>,
    pub to: u32,
}

/// Every key is as it is.
const WHOLE: u32 = u32::MAX;

/// What is summed for `centroid_sums`.
#[derive(Clone, Copy)]
pub struct Sums {
    pub clusters: u32,
    pub first: u32,
    pub members: u32,
    pub weighted: bool,
}

/// A soft assignment.
#[derive(Clone, Copy)]
pub struct Soft {
    pub clusters: u32,
    pub shares: u32,
    /// Room for the responsibilities of a block of points.
    pub scores: Slice,
}

impl Workspace {
    /// A dispatch over so many items.
    fn over<K: Arguments>(&self, args: K, items: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.kernels.dispatch(args, items, bindings))
    }

    /// A dispatch of so many workgroups.
    fn groups<K: Arguments>(&self, args: K, groups: u32, bindings: K::Bindings<Slice>) -> Command {
        self.over(args, groups * self.limits.group_size, bindings)
    }

    fn single<K: Arguments>(&self, args: K, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(Dispatch { single_group: true, ..self.kernels.dispatch(args, 1, bindings) })
    }

    /// Uploads of the points of a chunk, a few at a time.
    pub fn uploads(&self, chunk: Chunk, points: &Points) -> Vec<Command> {
        let (width, each) = (self.dimensions as usize, 1 << 20);
        let (begin, end) = (chunk.first as usize * width, (chunk.first + chunk.count) as usize * width);
        let upload = |first: usize| Command::UploadSingles {
            buffer: chunk.points.buffer,
            offset: (first - begin) as u32,
            data: points.values.clone(),
            first,
            len: each.min(end - first) as u32,
        };
        (begin..end).step_by(each).map(upload).collect()
    }

    /// ‖x‖² of a chunk's points.
    pub fn squares(&self, chunk: Chunk) -> Command {
        self.over(
            lloyd::Norms { dimensions: self.dimensions, first: chunk.first, soft: 0, shares: 0, guard: state::ALWAYS },
            chunk.count,
            lloyd::NormsBindings { rows: chunk.points, sums: self.sums, norms: self.squares, state: self.state },
        )
    }

    /// ‖a‖² of so many anchors; less T ln p, where sums of soft assignments are there.
    pub fn norms(&self, piece: Piece, clusters: u32, soft_shares: u32) -> Command {
        self.over(
            lloyd::Norms { dimensions: self.dimensions, first: 0, soft: soft_shares.min(1), shares: soft_shares, guard: state::DONE },
            clusters,
            lloyd::NormsBindings { rows: piece.anchors, sums: self.sums, norms: piece.norms, state: self.state },
        )
    }

    fn here(piece: Piece, clusters: u32) -> u32 {
        clusters.saturating_sub(piece.first).min(piece.count)
    }

    /// The pieces that so many anchors lie in, and how many of them each has.
    pub fn pieces_of(&self, clusters: u32) -> impl Iterator<Item = (Piece, u32)> {
        self.pieces.iter().map(move |piece| (*piece, Self::here(*piece, clusters))).filter(|(_, here)| *here > 0)
    }

    /// Workgroups of `assign` over a chunk.
    fn tiles(&self, chunk: Chunk) -> u32 {
        chunk.count.div_ceil(tile(self.limits.group_size).0 as u32)
    }

    /// The nearest of so many anchors, of every point of a chunk.
    pub fn assign(&self, chunk: Chunk, clusters: u32, commands: &mut Vec<Command>) {
        let pieces: Vec<_> = self.pieces_of(clusters).collect();
        for (number, (piece, here)) in pieces.iter().enumerate() {
            let flags = u32::from(self.direct)
                | u32::from(number == 0) << 1
                | u32::from(number + 1 == pieces.len()) << 2
                | u32::from(self.by_fours) << 3;
            commands.push(self.groups(
                lloyd::Assign {
                    points: chunk.count,
                    dimensions: self.dimensions,
                    anchors: *here,
                    first_anchor: piece.first,
                    first_point: chunk.first,
                    labels: self.places.labels,
                    candidates: self.places.before,
                    flags,
                    guard: state::DONE,
                    partial: self.first_tile(chunk),
                    all_points: self.count,
                },
                self.tiles(chunk),
                lloyd::AssignBindings {
                    points: chunk.points,
                    anchors: piece.anchors,
                    table: self.table,
                    squares: self.squares,
                    nearest: self.nearest,
                    norms: piece.norms,
                    state: self.state,
                    partials: self.partials,
                },
            ));
        }
    }

    /// The first partial of a chunk's workgroups, after those of the energy.
    fn first_tile(&self, chunk: Chunk) -> u32 {
        let before: u32 = self.chunks.iter().take_while(|other| other.first < chunk.first).map(|other| self.tiles(*other)).sum();
        2 * RUNS + before
    }

    fn all_tiles(&self) -> u32 {
        self.chunks.iter().map(|chunk| self.tiles(*chunk)).sum()
    }

    /// A stable sort of all points.
    pub fn sort(&self, sort: Sort, commands: &mut Vec<Command>) {
        let places = self.places;
        let begins = if sort.keys_at == places.keys && sort.mask != WHOLE { places.map } else { places.begins };
        let blocks = Self::part(self.table, places.blocks, self.blocks * sort.keys);
        commands.push(Command::Clear { slice: blocks });
        let (numbers, numbered) = (sort.from.unwrap_or(0), u32::from(sort.from.is_some()));
        let tally = sort::Tally {
            items: self.count,
            key_count: sort.keys,
            block: self.block,
            counts: places.blocks,
            keys: sort.keys_at,
            shift: sort.shift,
            mask: sort.mask,
            numbers,
            numbered,
            guard: state::DONE,
        };
        commands.push(self.groups(tally, self.blocks, sort::TallyBindings { table: self.table, state: self.state }));
        commands.push(self.over(
            sort::Spread {
                blocks: self.blocks,
                key_count: sort.keys,
                block_counts: places.blocks,
                counts: places.counts,
                guard: state::DONE,
            },
            sort.keys,
            sort::SpreadBindings { table: self.table, state: self.state },
        ));
        commands.push(self.single(
            sort::Offsets { key_count: sort.keys, counts: places.counts, beginnings: begins, guard: state::DONE },
            sort::OffsetsBindings { table: self.table, state: self.state },
        ));
        commands.push(self.groups(
            sort::Scatter {
                items: self.count,
                key_count: sort.keys,
                block: self.block,
                counts: places.blocks,
                keys: sort.keys_at,
                shift: sort.shift,
                mask: sort.mask,
                numbers,
                numbered,
                guard: state::DONE,
                beginnings: begins,
                sorted: sort.to,
            },
            self.blocks,
            sort::ScatterBindings { table: self.table, state: self.state },
        ));
    }

    /// Members of so many clusters, in ascending order.
    pub fn members(&self, clusters: u32, commands: &mut Vec<Command>) {
        let sort = Sort { keys_at: self.places.labels, keys: clusters, shift: 0, mask: WHOLE, from: None, to: self.places.members };
        self.sort(sort, commands);
    }

    /// Members by distance, of equal distance in ascending order; and weights that leave out those at the ends.
    pub fn members_by_distance(&self, clusters: u32, commands: &mut Vec<Command>) {
        let places = self.places;
        commands.push(self.over(
            sort::Keys { keys: places.keys, guard: state::DONE },
            self.count,
            sort::KeysBindings { table: self.table, nearest: self.nearest, state: self.state },
        ));
        let mut from = None;
        for (digit, to) in [places.aside, places.members, places.aside, places.members].into_iter().enumerate() {
            self.sort(Sort { keys_at: places.keys, keys: 256, shift: 8 * digit as u32, mask: 255, from, to }, commands);
            from = Some(to);
        }
        self.sort(Sort { keys_at: places.labels, keys: clusters, shift: 0, mask: WHOLE, from, to: places.aside }, commands);
        self.weigh(places.aside, true, commands);
    }

    /// Weights of members by their places in a list, or by their distances.
    pub fn weigh(&self, members: u32, trims: bool, commands: &mut Vec<Command>) {
        commands.push(self.over(
            lloyd::Weigh {
                members,
                beginnings: self.places.begins,
                labels: self.places.labels,
                guard: state::DONE,
                trims: u32::from(trims),
            },
            self.count,
            lloyd::WeighBindings { table: self.table, nearest: self.nearest, weights: self.weights, state: self.state },
        ));
    }

    /// Adds a chunk's members to the sums of a piece's clusters (or of candidates, which are one piece).
    pub fn centroid_sums(&self, chunk: Chunk, sums: Sums, commands: &mut Vec<Command>) {
        let alone = self.chunks.len() == 1;
        let flags = u32::from(sums.weighted) | u32::from(chunk.first > 0) << 1 | u32::from(alone) << 2;
        let shares = self.shares(sums.clusters);
        commands.push(self.groups(
            lloyd::CentroidSums {
                clusters: sums.clusters,
                first_cluster: sums.first,
                dimensions: self.dimensions,
                shares,
                first_point: chunk.first,
                points: chunk.count,
                members: sums.members,
                beginnings: self.places.begins,
                guard: state::DONE,
                flags,
            },
            sums.clusters * shares,
            lloyd::CentroidSumsBindings {
                points: chunk.points,
                table: self.table,
                weights: self.weights,
                sums: self.sums,
                state: self.state,
            },
        ));
    }

    /// Anchors go to the means that the sums say, or as `flags` say of `update`.
    pub fn update(&self, anchors: Slice, velocity: Slice, clusters: u32, flags: u32, commands: &mut Vec<Command>) {
        commands.push(self.over(
            lloyd::Update { anchors: clusters, dimensions: self.dimensions, shares: self.shares(clusters), flags, guard: state::DONE },
            clusters * self.dimensions,
            lloyd::UpdateBindings { sums: self.sums, anchors, velocity, state: self.state },
        ));
    }

    /// How far the points of a chunk are from the anchors that their labels say.
    pub fn distances(&self, chunk: Chunk, clusters: u32, by_fours: bool, commands: &mut Vec<Command>) {
        for (piece, here) in self.pieces_of(clusters) {
            commands.push(self.over(
                lloyd::Distances {
                    points: chunk.count,
                    dimensions: self.dimensions,
                    anchors: here,
                    first_anchor: piece.first,
                    first_point: chunk.first,
                    labels: self.places.labels,
                    guard: state::DONE,
                    fours: u32::from(by_fours),
                },
                chunk.count,
                lloyd::DistancesBindings {
                    points: chunk.points,
                    anchors: piece.anchors,
                    table: self.table,
                    nearest: self.nearest,
                    state: self.state,
                },
            ));
        }
    }

    fn runs_of_energy(&self) -> u32 {
        RUNS.min(self.count.div_ceil(self.limits.group_size)).max(1)
    }

    /// Partial sums of the energy, and of the labels that an assignment changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn partial_counts(&self) -> [u32; 2] {
        [self.runs_of_energy(), self.all_tiles()]
    }

    /// The first partial sum of changes, behind those of the energy and their low parts.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn first_change(&self) -> u32 {
        2 * RUNS
    }

    /// The exchange of the sums of so many clusters, where there are other ranks.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn combined_sums(&self, clusters: u32) -> Option<Command> {
        let len = self.shares(clusters) * clusters * (self.dimensions + 1);
        self.combined.map(|_| super::super::ranked::Combined::sums(Slice { len, ..self.sums }))
    }

    /// The energy, from the distances to the nearest anchors; and the end of the iteration. `relabelled` says by whom labels were
    /// changed last.
    pub fn converge(&self, relabelled: bool, commands: &mut Vec<Command>) {
        let runs = self.runs_of_energy();
        let column = Self::part(self.nearest, 0, self.count);
        commands.push(self.groups(
            step::Sum { partial: 0, distance: RUNS, elements: self.count },
            runs,
            step::SumBindings { column, partials: self.partials },
        ));
        let changes = if relabelled { self.count.div_ceil(self.limits.group_size) } else { self.all_tiles() };
        #[cfg(not(target_arch = "wasm32"))]
        let [runs, changes] = match self.combined {
            Some(combined) => {
                commands.push(combined.exchange(self.partials, RUNS, [runs, changes]));
                combined.counts()
            }
            None => [runs, changes],
        };
        commands.push(self.single(
            lloyd::Converge { energy: 0, energy_count: runs, distance: RUNS, guard: state::DONE, changes: 2 * RUNS, change_count: changes },
            lloyd::ConvergeBindings { state: self.state, partials: self.partials },
        ));
    }

    /// Labels by way of the map.
    pub fn relabel(&self, from: u32, commands: &mut Vec<Command>) {
        commands.push(self.over(
            moves::Relabel {
                source: from,
                map: self.places.map,
                labels: self.places.labels,
                before: self.places.before,
                partial: 2 * RUNS,
            },
            self.count,
            moves::RelabelBindings { table: self.table, partials: self.partials },
        ));
    }

    /// Close anchors become one; the map says which.
    pub fn merge(&self, clusters: u32, half: bool, commands: &mut Vec<Command>) {
        let piece = self.pieces[0];
        commands.push(self.single(
            moves::Merge {
                anchors: clusters,
                dimensions: self.dimensions,
                counts: self.places.counts,
                map: self.places.map,
                flags: u32::from(half) << 2,
            },
            moves::MergeBindings { table: self.table, anchors: piece.anchors, sums: self.sums, state: self.state },
        ));
    }

    /// Two candidates of every cluster, at two of its members.
    pub fn seed(&self, chunk: Chunk, clusters: u32, parts: [u32; 2], commands: &mut Vec<Command>) {
        let places = self.places;
        commands.push(self.over(
            moves::Seed {
                dimensions: self.dimensions,
                first_point: chunk.first,
                points: chunk.count,
                members: places.members,
                beginnings: places.begins,
                u: parts[0],
                v: parts[1],
            },
            2 * clusters * self.dimensions,
            moves::SeedBindings { points: chunk.points, table: self.table, candidates: self.candidates },
        ));
    }

    /// The nearer of its cluster's candidates, of every point of a chunk.
    pub fn divide(&self, chunk: Chunk, commands: &mut Vec<Command>) {
        commands.push(self.over(
            moves::Divide {
                points: chunk.count,
                dimensions: self.dimensions,
                first_point: chunk.first,
                labels: self.places.labels,
                sides: self.places.keys,
            },
            chunk.count,
            moves::DivideBindings { points: chunk.points, anchors: self.candidates, table: self.table, nearest: self.divided },
        ));
    }

    /// Where `totals` puts its first or its second sums.
    pub fn totals_at(&self, second: bool) -> u32 {
        if second { self.totals.len / 2 } else { 0 }
    }

    /// Sums over members of two of the points' numbers, two a cluster.
    pub fn totals(&self, numbers: Slice, clusters: u32, second: bool, commands: &mut Vec<Command>) {
        let totals = Slice { offset: self.totals_at(second), len: 2 * clusters, ..self.totals };
        commands.push(self.groups(
            lloyd::Totals { clusters, members: self.places.members, beginnings: self.places.begins, distance: self.count },
            clusters,
            lloyd::TotalsBindings { table: self.table, numbers, totals },
        ));
    }

    /// Workgroups of what goes over a chunk's rows to choose where anchors start, which have so many rows at a time.
    fn runs_of_chunk(&self, abreast: u32) -> u32 {
        runs_for(self.chunks.first().map_or(1, |chunk| chunk.count), abreast * self.limits.group_size / SHARE)
    }

    fn number_of(&self, chunk: Chunk) -> u32 {
        chunk.first / self.chunks[0].count
    }

    /// How far the points of a chunk are from the anchors so far, of which this one came last.
    pub fn farthest(&self, chunk: Chunk, anchor: u32, commands: &mut Vec<Command>) {
        let Some((piece, row)) = self.row(anchor) else { return };
        let runs = self.runs_of_chunk(1);
        let partial = self.number_of(chunk) * 2 * runs;
        commands.push(self.groups(
            init::Farthest {
                points: chunk.count,
                dimensions: self.dimensions,
                anchor: row,
                first_point: chunk.first,
                starts: u32::from(anchor == 0),
                partial,
            },
            runs,
            init::FarthestBindings { points: chunk.points, anchors: piece.anchors, nearest: self.nearest, partials: self.partials },
        ));
    }

    /// Candidates that an anchor is chosen from, where they are at random.
    pub fn trials(&self, clusters: u32) -> u32 {
        trials_for(clusters).min(self.candidates.len / self.dimensions).min(self.uniforms.len / clusters.max(1)).max(1)
    }

    /// Where an anchor starts: itself, or its candidates.
    pub fn starts(&self, anchor: u32, candidates: bool) -> Option<(Slice, u32)> {
        if candidates { Some((self.candidates, 0)) } else { self.row(anchor).map(|(piece, row)| (piece.anchors, row)) }
    }

    /// Chooses points that rows start at: the farthest without numbers at random, else one for each of so many of these. Rows start
    /// there, if all points are in one chunk.
    pub fn pick(&self, (rows, row): (Slice, u32), at_random: Option<(u32, u32)>, commands: &mut Vec<Command>) {
        let (uniform, picks) = at_random.unwrap_or((0, 1));
        commands.push(self.groups(
            init::Pick {
                runs: self.runs_of_chunk(1),
                chunk_points: self.chunks[0].count,
                points: self.count,
                random: u32::from(at_random.is_some()),
                uniform,
                choice: self.places.choice,
                dimensions: self.dimensions,
                row,
                whole: u32::from(self.chunks.len() == 1),
            },
            picks,
            init::PickBindings {
                points: self.chunks[0].points,
                uniforms: self.uniforms,
                table: self.table,
                nearest: self.nearest,
                rows,
                partials: self.partials,
            },
        ));
    }

    /// Has rows start where the choices are that are in this chunk.
    pub fn adopt(&self, chunk: Chunk, (rows, row): (Slice, u32), picks: u32, commands: &mut Vec<Command>) {
        commands.push(self.over(
            init::Adopt { first_point: chunk.first, points: chunk.count, dimensions: self.dimensions, row, choice: self.places.choice },
            picks * self.dimensions,
            init::AdoptBindings { points: chunk.points, table: self.table, rows },
        ));
    }

    /// What candidates would leave of a chunk's distances.
    pub fn potentials(&self, chunk: Chunk, trials: u32, commands: &mut Vec<Command>) {
        let runs = self.runs_of_chunk(POTENTIALS_ABREAST);
        commands.push(self.groups(
            init::Potentials {
                points: chunk.count,
                dimensions: self.dimensions,
                candidates: trials,
                first_point: chunk.first,
                partial: self.number_of(chunk) * runs * trials,
            },
            runs,
            init::PotentialsBindings { points: chunk.points, candidates: self.candidates, nearest: self.nearest, partials: self.partials },
        ));
    }

    /// The candidate that leaves least becomes the anchor.
    pub fn elect(&self, anchor: u32, trials: u32, commands: &mut Vec<Command>) {
        let Some((piece, row)) = self.row(anchor) else { return };
        let runs = self.runs_of_chunk(POTENTIALS_ABREAST) * self.chunks.len() as u32;
        commands.push(self.single(
            init::Elect { runs, candidates: trials, dimensions: self.dimensions, row, partial: 0 },
            init::ElectBindings { candidates: self.candidates, anchors: piece.anchors, partials: self.partials },
        ));
    }

    fn row(&self, anchor: u32) -> Option<(Piece, u32)> {
        let piece = self.pieces.iter().find(|piece| anchor >= piece.first && anchor < piece.first + piece.count)?;
        Some((*piece, anchor - piece.first))
    }

    /// Copies a row of anchors or candidates, or several.
    pub fn copy_rows(&self, from: Slice, row: u32, to: Slice, at: u32, rows: u32) -> Command {
        let slice = |of: Slice, row: u32| Self::part(of, row * self.dimensions, rows * self.dimensions);
        Command::Copy { from: slice(from, row), to: slice(to, at) }
    }

    /// Pairs of anchors are measured (0), split (1) or joined (2), from the piece's rows to the candidates'.
    pub fn pairs(&self, pairs: u32, what: u32, seed: u32, commands: &mut Vec<Command>) {
        let table = Slice { offset: 0, len: self.table.len, ..self.table };
        commands.push(self.groups(
            anneal::Pairs { dimensions: self.dimensions, mode: what, seed, step: 0 },
            pairs,
            anneal::PairsBindings {
                anchors: self.pieces[0].anchors,
                table,
                steps: self.uniforms,
                pairs: self.candidates,
                state: self.state,
                measures: self.totals,
            },
        ));
    }

    /// A soft assignment of a block of a chunk's points to so many anchors, and what it adds to their sums.
    pub fn soft(&self, soft: Soft, chunk: Chunk, first: u32, count: u32, commands: &mut Vec<Command>) {
        let piece = self.pieces[0];
        let (rows, columns) = tile(self.limits.group_size);
        let tiles = |items: u32, side: usize| items.div_ceil(side as u32);
        commands.push(self.groups(
            anneal::Scores { points: count, dimensions: self.dimensions, anchors: soft.clusters, first_point: first },
            tiles(count, rows) * tiles(soft.clusters, columns),
            anneal::ScoresBindings { points: chunk.points, anchors: piece.anchors, norms: piece.norms, scores: soft.scores },
        ));
        commands.push(self.over(
            anneal::Soften { anchors: soft.clusters, first_point: chunk.first + first, partial: 0 },
            count,
            anneal::SoftenBindings { squares: self.squares, scores: soft.scores, state: self.state, partials: self.partials },
        ));
        let groups = (self.dimensions / columns as u32 + 1) * tiles(soft.clusters, rows) * soft.shares;
        commands.push(self.groups(
            anneal::Blend {
                points: count,
                dimensions: self.dimensions,
                anchors: soft.clusters,
                shares: soft.shares,
                first_point: first,
                adds: u32::from(chunk.first + first > 0),
            },
            groups,
            anneal::BlendBindings { points: chunk.points, responsibilities: soft.scores, sums: self.sums },
        ));
    }
}
