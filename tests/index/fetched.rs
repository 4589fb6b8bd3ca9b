//! Indices whose codes are read list by list: the hits of whole ones to the bit, and files that are not what they say.

use super::data::Random;
use super::graphs::with_graph_of;
use super::{indexes_of, mixture};
use leastwise::anneal::code::Code;
use leastwise::anneal::file::INDEX_BY_LISTS;
use leastwise::anneal::index::fetched::{Fetched, Place, place_of_codes};
use leastwise::anneal::index::{Hits, Index, Through, graphed};
use leastwise::base::container::{self, Section};

const DIM: usize = 24;
const CODED: [Code; 3] = [Code::Bits, Code::Int8, Code::Int4];

/// A file in the pieces that are read of it: what is there from the first, and the codes.
struct Source<'a> {
    place: Place,
    file: &'a [u8],
}

impl<'a> Source<'a> {
    fn new(file: &'a [u8]) -> Self {
        let place = place_of_codes(&file[..file.len().min(leastwise::anneal::index::fetched::HEADER)]).expect("a place");
        assert_eq!(place.total, file.len());
        Self { place, file }
    }

    fn open(&self) -> Fetched {
        Fetched::open(&self.file[..self.place.offset], &self.file[self.place.offset + self.place.padded..]).expect("the index")
    }

    fn codes(&self, fetched: &Fetched, list: u32) -> &'a [u8] {
        let (starts, width) = (fetched.starts(), fetched.index().info()["rowBytes"].as_u64().expect("bytes") as usize);
        let [from, to] = [list, list + 1].map(|list| self.place.offset + starts[list as usize] as usize * width);
        &self.file[from..to]
    }
}

/// Hits, and how many lists were read for them, the last ones first.
fn found(source: &Source, queries: &[f32], k: usize, probes: Option<u32>, effort: Option<u32>, filter: Option<&[u8]>) -> (Hits, usize) {
    let fetched = source.open();
    let mut search = fetched.search(queries, k, probes, effort, filter, None).expect("a search");
    let lists = fetched.lists(&search);
    for (read, &list) in lists.iter().enumerate().rev() {
        assert_eq!(fetched.lists(&search), lists[..=read]);
        fetched.scan(&mut search, list, source.codes(&fetched, list)).expect("a list");
        assert!(fetched.scan(&mut search, list, source.codes(&fetched, list)).is_err(), "a list twice");
    }
    (fetched.hits(search).expect("hits"), lists.len())
}

#[test]
fn hits_are_those_of_the_whole_index_to_the_bit() {
    let (points, queries) = (mixture(900, DIM, 9, 5), mixture(7, DIM, 9, 6));
    for mut index in indexes_of(&CODED, &points, DIM, 12) {
        index.remove(&[0, 7, 8, 800]);
        index.add(&points[..30 * DIM]).expect("ids");
        let file = index.save_by_lists();
        let source = Source::new(&file);
        let filter: Vec<u8> = (0..index.next_id()).map(|id| u8::from(id % 5 == 0)).collect();
        for (k, probes, filter) in
            [(5, None, None), (10, Some(3), None), (3, Some(1), None), (6, None, Some(&filter[..])), (2000, None, None)]
        {
            let (hits, read) = found(&source, &queries, k, probes, None, filter);
            assert_eq!(hits, index.search(&queries, k, probes, filter).expect("hits"), "{}, {probes:?}", index.code().name());
            assert!(probes.is_none_or(|probes| read <= 7 * probes as usize) && read <= 12);
        }
        let one = found(&source, &queries[..DIM], 5, Some(2), None, None);
        assert_eq!(one.1, 2);
        // Read whole, such a file is the index that was saved.
        let whole = Index::open(&file).expect("the index");
        assert_eq!(whole.save(), index.save());
        assert_eq!(whole.save_by_lists(), file);
        assert_eq!(file.len().next_multiple_of(64), file.len());
        assert!(file.len() <= index.bytes() + 4 * 12 + 192);
    }
}

#[test]
fn walks_are_those_of_the_whole_index_to_the_bit() {
    let (points, queries) = (mixture(2500, DIM, 12, 31), mixture(20, DIM, 12, 32));
    let mut index = with_graph_of(&points, DIM);
    index.add(&points[..40 * DIM]).expect("ids");
    // Without sketches in the file walks can't be.
    let bare = index.save_by_lists();
    let (hits, _) = found(&Source::new(&bare), &queries, 10, None, None, None);
    assert_eq!((hits.by.through, hits.by.reason.as_deref()), (Through::Lists, Some("the graph was not used: the file has no sketches")));
    while !graphed::draw(&mut index, 0.0) {}
    let file = index.save_by_lists();
    assert!(file.len() - bare.len() >= 2540 * (4 + 8) && file.len() - bare.len() < 2540 * (4 + 8) + 128);
    let source = Source::new(&file);
    let filter: Vec<u8> = (0..index.next_id()).map(|id| u8::from(id % 3 == 0)).collect();
    for (effort, filter) in [(None, None), (Some(20), None), (Some(300), None), (None, Some(&filter[..]))] {
        let (hits, _) = found(&source, &queries, 10, None, effort, filter);
        let beam = graphed::route(&index, 10, effort, filter).expect("a walk");
        assert_eq!(hits, graphed::search(&index, &queries, 10, beam, filter).expect("hits"));
        assert_eq!(hits.by.through, Through::Graph);
    }
    let (_, read) = found(&source, &queries[..DIM], 10, None, Some(10), None);
    // Ten of the graph and ten of those that are not in it yet, at most.
    assert!(read <= 16, "{read} lists of 24 for one query");
    assert_eq!(Index::open(&file).expect("the index").save(), index.save());
}

#[test]
fn lists_that_were_damaged_are_refused_and_change_nothing() {
    let (points, queries) = (mixture(600, DIM, 9, 5), mixture(3, DIM, 9, 6));
    for index in indexes_of(&CODED, &points, DIM, 6) {
        let file = index.save_by_lists();
        let source = Source::new(&file);
        let fetched = source.open();
        let mut search = fetched.search(&queries, 4, None, None, None, None).expect("a search");
        for list in fetched.lists(&search) {
            let mut codes = source.codes(&fetched, list).to_vec();
            let half = codes.len() / 2;
            codes[half] ^= 4;
            assert_eq!(fetched.scan(&mut search, list, &codes).expect_err("damage").code(), "file-corrupt");
            assert_eq!(fetched.scan(&mut search, list, &codes[1..]).expect_err("fewer").code(), "file-truncated");
            assert_eq!(fetched.scan(&mut search, list + 6, &codes).expect_err("no list").code(), "invalid-option");
            fetched.scan(&mut search, list, source.codes(&fetched, list)).expect("the list");
        }
        assert_eq!(fetched.hits(search).expect("hits"), index.search(&queries, 4, None, None).expect("hits"));
        // Whoever reads all of it finds the damage, too, and so does who finds the checksums of lists wrong.
        let mut changed = file.clone();
        changed[source.place.offset] ^= 1;
        assert_eq!(Index::open(&changed).map(drop).expect_err("damage").code(), "file-corrupt");
        let mut sections = container::read(&INDEX_BY_LISTS, &file).expect("sections");
        sections.iter_mut().find(|section| section.kind == 13).expect("sums").bytes.to_mut()[0] ^= 1;
        let changed = container::write(&INDEX_BY_LISTS, &sections);
        assert_eq!(Index::open(&changed).map(drop).expect_err("damage").code(), "file-corrupt");
    }
}

#[test]
fn files_that_were_cut_or_are_of_another_kind_are_refused() {
    let points = mixture(300, DIM, 9, 5);
    let index = indexes_of(&[Code::Bits], &points, DIM, 6).pop().expect("an index");
    let (file, plain) = (index.save_by_lists(), index.save());
    assert_eq!(place_of_codes(&plain).expect_err("no lists").code(), "file-format");
    assert_eq!(place_of_codes(&file[..63]).expect_err("cut").code(), "file-truncated");
    assert_eq!(place_of_codes(b"no index at all").expect_err("another").code(), "file-format");
    let Place { offset, padded, .. } = place_of_codes(&file).expect("a place");
    let (before, behind) = (&file[..offset], &file[offset + padded..]);
    for (before, behind) in
        [(&before[..offset - 1], behind), (before, &behind[1..]), (before, &file[offset..]), (&before[..20], behind), (behind, before)]
    {
        let error = Fetched::open(before, behind).map(drop).expect_err("other pieces");
        assert!(["file-format", "file-truncated", "file-corrupt"].contains(&error.code()), "{error}");
    }
    let none = indexes_of(&[Code::None], &points, DIM, 6).pop().expect("an index").save_by_lists();
    assert_eq!(place_of_codes(&none).expect_err("no codes").code(), "file-format");
}

#[test]
fn hostile_files_with_right_checksums_never_panic() {
    let (points, queries) = (mixture(400, DIM, 9, 5), mixture(2, DIM, 9, 6));
    let mut index = with_graph_of(&points, DIM);
    while !graphed::draw(&mut index, 0.0) {}
    let file = index.save_by_lists();
    let mut random = Random(9);
    let (mut opened, mut scanned) = (0, 0);
    for _ in 0..1500 {
        let mut sections = container::read(&INDEX_BY_LISTS, &file).expect("sections");
        let place = random.below(sections.len());
        let Section { kind, bytes } = &mut sections[place];
        let bytes = bytes.to_mut();
        match random.below(8) {
            0 => bytes.truncate(random.below(bytes.len() + 1)),
            1 => bytes.extend([0; 64]),
            _ => {
                for _ in 0..=random.below(3) {
                    // Of numbers that mean sizes more often than of others.
                    let is_early = *kind == 1 || random.below(2) == 0;
                    let at = random.below(if is_early { bytes.len().min(48) } else { bytes.len() });
                    bytes[at] = random.next() as u8;
                }
            }
        }
        let changed = container::write(&INDEX_BY_LISTS, &sections);
        let Ok(Place { offset, padded, .. }) = place_of_codes(&changed) else { continue };
        let Ok(fetched) = Fetched::open(&changed[..offset], &changed[offset + padded..]) else { continue };
        opened += 1;
        if fetched.index().dim() != DIM {
            continue;
        }
        let source = Source::new(&changed);
        for probes in [None, Some(4)] {
            let mut search = fetched.search(&queries, 5, probes, None, None, None).expect("a search");
            for list in fetched.lists(&search) {
                scanned += usize::from(fetched.scan(&mut search, list, source.codes(&fetched, list)).is_ok());
            }
            assert_eq!(fetched.hits(search).expect("hits").ids.len(), 10);
        }
        let _ = Index::open(&changed);
    }
    assert!(opened > 50 && scanned > 500, "{opened} were opened, {scanned} lists scanned");
}
