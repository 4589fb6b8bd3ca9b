//! Indices that take in others, files of changes, and files that are not what they say.

use super::data::{Random, fresh};
use super::graphs::with_graph_of;
use super::{indexes, mixture, of_bits};
use leastwise::anneal::code::Code;
use leastwise::anneal::file::CHANGES;
use leastwise::anneal::index::changes::{Since, checksum_of};
use leastwise::anneal::index::{Coarse, Index, Through, graphed};
use leastwise::base::container;

const DIM: usize = 12;

fn opened(file: &[u8]) -> Index {
    Index::open(file).expect("the index")
}

fn since(index: &Index, file: &[u8]) -> Since {
    Since { file: checksum_of(file).expect("a header"), count: index.count() as u32, next_id: index.next_id() }
}

#[test]
fn merged_vectors_are_those_of_the_other_index_to_the_bit() {
    let (points, more) = (mixture(300, DIM, 3, 5), mixture(80, DIM, 3, 6));
    for index in indexes(&points, DIM, 5) {
        let file = index.save();
        let (mut one, mut other) = (opened(&file), opened(&file));
        other.remove(&(0..300).filter(|id| id % 3 != 0).collect::<Vec<_>>());
        other.add(&more).expect("ids");
        other.remove(&[303, 310]);
        let ids = other.ids();
        let coming = one.coming_from(&other).expect("vectors");
        assert_eq!(coming.count(), 100 + 78);
        let new = one.take_in(coming).expect("ids");
        assert_eq!(new, (300..478).collect::<Vec<u32>>());
        // Codes are copied: nothing is lost, however often.
        assert_eq!(one.reconstruct(&new).expect("vectors"), other.reconstruct(&ids).expect("vectors"), "{}", one.code().name());
        assert_eq!((one.count(), other.count()), (478, 178));
        // Adding the same vectors gives the same index.
        let mut added = opened(&file);
        let kept: Vec<u32> = (0..100).map(|place| 3 * place).collect();
        let again = added.coming_from(&opened(&file)).expect("vectors");
        assert_eq!(again.count(), 300);
        assert_eq!(one.reconstruct(&new[..100]).expect("vectors"), index.reconstruct(&kept).expect("vectors"));
        added.add(&more).expect("ids");
        assert_eq!(one.reconstruct(&new[100..103]).expect("vectors"), added.reconstruct(&[300, 301, 302]).expect("vectors"));
        let hits = one.search(&more[..DIM], 3, None, None).expect("hits");
        let alone = other.search(&more[..DIM], 1, None, None).expect("hits");
        assert_eq!(hits.distances[0], alone.distances[0]);
    }
}

#[test]
fn other_models_are_refused_with_the_reason() {
    let points = mixture(300, DIM, 3, 5);
    let all = indexes(&points, DIM, 5);
    let refused = |one: &Index, other: &Index, words: &str| {
        let error = one.coming_from(other).map(|coming| coming.count()).expect_err("another model");
        assert_eq!(error.code(), "invalid-option");
        assert!(error.to_string().contains(words) && error.to_string().contains("trainFor"), "{error}");
    };
    for one in &all {
        for other in &all {
            if one.code() != other.code() {
                refused(one, other, other.code().name());
            }
        }
    }
    let fewer = indexes(&mixture(300, DIM, 3, 6), DIM, 4);
    let trained = indexes(&mixture(300, DIM, 3, 7), DIM, 5);
    let wider = indexes(&mixture(300, 8, 3, 5), 8, 5);
    for (place, one) in all.iter().enumerate() {
        refused(one, &fewer[place], "clusters");
        refused(one, &trained[place], "trained on other vectors");
        refused(one, &wider[place], "8 components");
        // The scale of the codes alone.
        let mut larger: Vec<f32> = points.clone();
        larger.iter_mut().for_each(|value| *value *= 4.0);
        refused(one, &indexes(&larger, DIM, 5)[place], "trained on other vectors");
    }
}

#[test]
fn a_file_and_its_changes_are_the_index_that_changed() {
    let (points, more) = (mixture(300, DIM, 3, 5), mixture(200, DIM, 3, 6));
    for index in indexes(&points, DIM, 5) {
        let mut file = index.save();
        let mut index = opened(&file);
        let first = file.clone();
        let mut changes: Vec<Vec<u8>> = Vec::new();
        for (round, rows) in more.chunks(50 * DIM).enumerate() {
            let before = since(&index, &file);
            let mut removed = vec![7 * round as u32, 7 * round as u32 + 1, 7 * round as u32, 299];
            index.remove(&removed);
            let ids = match round {
                1 => Vec::new(),
                _ => index.add(rows).expect("ids"),
            };
            // Some that came and went, in between and at the end.
            if round != 2 {
                removed.extend(ids.iter().filter(|id| **id % 10 == 3 || **id > ids[0] + 46));
                index.remove(&removed);
            }
            file = index.save_changes(before, &removed).expect("a file");
            assert!(file.len() < index.save().len());
            changes.push(file.clone());
        }
        let mut grown = opened(&first);
        let mut follows = checksum_of(&first).expect("a header");
        for changes in &changes {
            grown.apply_changes(changes, follows).expect("changes");
            follows = checksum_of(changes).expect("a header");
        }
        assert!(grown.save() == index.save(), "{}", index.code().name());
        // Left out, twice, or in another order.
        let mut other = opened(&first);
        let error = other.apply_changes(&changes[1], checksum_of(&first).expect("a header")).expect_err("one is missing");
        assert!(error.code() == "file-format" && error.to_string().contains("order"), "{error}");
        let start = checksum_of(&first).expect("a header");
        other.apply_changes(&changes[0], start).expect("changes");
        assert!(other.apply_changes(&changes[0], start).is_err());
        assert!(other.apply_changes(&changes[2], checksum_of(&changes[0]).expect("a header")).is_err());
        other.apply_changes(&changes[1], checksum_of(&changes[0]).expect("a header")).expect("changes");
        // Nothing changed: a file all the same.
        let nothing = other.save_changes(since(&other, &changes[1]), &[]).expect("a file");
        let saved = other.save();
        other.apply_changes(&nothing, checksum_of(&changes[1]).expect("a header")).expect("no changes");
        assert!(other.save() == saved);
    }
}

#[test]
fn changes_leave_new_vectors_beside_the_graph() {
    let (points, more) = (mixture(2000, 24, 12, 31), mixture(100, 24, 12, 33));
    let index = with_graph_of(&points, 24);
    let file = index.save();
    let mut index = opened(&file);
    let before = since(&index, &file);
    index.add(&more).expect("ids");
    index.remove(&[5, 6]);
    let changes = index.save_changes(before, &[5, 6]).expect("a file");
    // Of what was added alone: codes of 18 bytes and a scale, and five bits of a cluster, beside header and padding.
    assert!(changes.len() < 100 * 24 + 640, "{} bytes", changes.len());
    let mut grown = opened(&file);
    grown.apply_changes(&changes, before.file).expect("changes");
    assert_eq!(grown.graph().expect("a graph").nodes(), 1998);
    assert!(grown.save() == index.save());
    while !graphed::draw(&mut grown, 0.0) {}
    let beam = graphed::route(&grown, 10, None, None).expect("a walk");
    let hits = graphed::search(&grown, &more[..24], 10, beam, None).expect("hits");
    assert_eq!((hits.by.through, hits.ids[0]), (Through::Graph, 2000));
}

#[test]
fn what_did_not_come_from_the_file_is_no_change_of_it() {
    let points = mixture(300, DIM, 3, 5);
    let mut index = indexes(&points, DIM, 5).pop().expect("an index");
    let before = since(&index, &index.save());
    index.remove(&[1, 2, 3]);
    for (since, removed) in [
        // Fewer were told than are gone.
        (before, &[1, 2][..]),
        (Since { count: 200, ..before }, &[1, 2, 3]),
        (Since { next_id: 301, ..before }, &[1, 2, 3]),
        (Since { next_id: 0, ..before }, &[1, 2, 3]),
    ] {
        assert_eq!(index.save_changes(since, removed).expect_err("no change").code(), "invalid-option");
    }
    // Ids that are still there, or never were, are passed over.
    let file = index.save_changes(before, &[1, 2, 3, 4, 900, u32::MAX]).expect("a file");
    let mut other = indexes(&points, DIM, 5).pop().expect("an index");
    other.apply_changes(&file, before.file).expect("changes");
    assert!(other.ids() == index.ids());
    // The same changes of an index with another model.
    let mut stranger = indexes(&mixture(300, DIM, 3, 8), DIM, 5).pop().expect("an index");
    assert!(stranger.apply_changes(&file, before.file).expect_err("another").to_string().contains("other clusters"));
    assert_eq!(checksum_of(&[0; 63]), None);
}

#[test]
fn hostile_changes_are_refused_and_change_nothing() {
    let points = mixture(300, DIM, 3, 5);
    let mut random = Random(fresh());
    for index in indexes(&points, DIM, 5) {
        let (base, code) = (index.save(), index.code());
        let before = since(&index, &base);
        let mut grown = opened(&base);
        grown.add(&points[..40 * DIM]).expect("ids");
        grown.remove(&[9, 10, 305]);
        let file = grown.save_changes(before, &[9, 10, 305]).expect("a file");
        let expected = grown.save();
        let (mut refused, mut taken) = (0, 0);
        let mut attempt = |changed: &[u8], must_fail: bool| {
            let mut index = opened(&base);
            match index.apply_changes(changed, before.file) {
                Err(error) => {
                    assert!(
                        ["file-format", "file-truncated", "file-corrupt", "file-version", "out-of-memory"].contains(&error.code()),
                        "{error}"
                    );
                    assert!(index.save() == base, "a file that is refused changes nothing");
                    refused += 1;
                }
                Ok(()) => {
                    assert!(!must_fail, "{}", code.name());
                    // Whatever it was: the index works, and can be saved.
                    index.search(&points[..DIM], 3, None, None).expect("hits");
                    assert_eq!(opened(&index.save()).count(), index.count());
                    taken += 1;
                }
            }
        };
        attempt(b"", true);
        attempt(&base, true);
        for length in [1, 63, 64, 100, file.len() - 64, file.len() - 1] {
            attempt(&file[..length], true);
        }
        for _ in 0..200 {
            let mut changed = file.clone();
            changed[random.below(file.len())] ^= 1 << random.below(8);
            attempt(&changed, true);
        }
        // Checksums mended: sizes, then bytes anywhere, then lengths.
        let mutated = |change: &mut dyn FnMut(u32, &mut Vec<u8>)| {
            let mut sections = container::read(&CHANGES, &file).expect("sections");
            sections.iter_mut().for_each(|section| change(section.kind, section.bytes.to_mut()));
            container::write(&CHANGES, &sections)
        };
        for field in 0..8 {
            for value in [0, 1, 2, 37, 301, 1 << 16, 1 << 24, 1 << 31, u32::MAX - 1, u32::MAX] {
                let changed = mutated(&mut |kind, bytes| {
                    if kind == 1 {
                        bytes[4 * field..][..4].copy_from_slice(&u32::to_le_bytes(value));
                    }
                });
                attempt(&changed, field < 5 && changed != file);
            }
        }
        let kinds: Vec<u32> = container::read(&CHANGES, &file).expect("sections").iter().map(|section| section.kind).collect();
        for &of in &kinds {
            for _ in 0..60 {
                let changed = mutated(&mut |kind, bytes| {
                    if kind == of {
                        let at = random.below(bytes.len());
                        bytes[at] = random.next() as u8;
                    }
                });
                attempt(&changed, false);
            }
            attempt(
                &mutated(&mut |kind, bytes| {
                    if kind == of {
                        bytes.push(0)
                    }
                }),
                true,
            );
            attempt(
                &mutated(&mut |kind, bytes| {
                    if kind == of {
                        bytes.truncate(bytes.len() / 2)
                    }
                }),
                true,
            );
            let mut sections = container::read(&CHANGES, &file).expect("sections");
            sections.retain(|section| section.kind != of);
            // Without ids these are the next ones.
            attempt(&container::write(&CHANGES, &sections), of != 5);
        }
        let mut sections = container::read(&CHANGES, &file).expect("sections");
        sections.push(container::Section { kind: 40, bytes: vec![0; 8].into() });
        attempt(&container::write(&CHANGES, &sections), true);
        if code == Code::None {
            let mut sections = container::read(&CHANGES, &file).expect("sections");
            sections.push(container::Section { kind: 11, bytes: Vec::new().into() });
            sections.sort_by_key(|section| section.kind);
            attempt(&container::write(&CHANGES, &sections), true);
        }
        assert!(refused > 300 && taken > 0, "{refused} refused, {taken} taken");
        let mut index = opened(&base);
        index.apply_changes(&file, before.file).expect("changes");
        assert!(index.save() == expected);
    }
}

#[test]
fn an_empty_index_of_a_sample_is_what_parts_are_merged_into() {
    let points = mixture(600, DIM, 3, 5);
    let options = leastwise::anneal::index::Options { train_for: Some(600), ..of_bits(5.0) };
    let empty = Index::build(&points, DIM, Coarse::default(), &options).expect("an index").save();
    let mut whole = opened(&empty);
    whole.add(&points).expect("ids");
    let mut merged = opened(&empty);
    for part in points.chunks(200 * DIM) {
        let mut own = opened(&empty);
        own.add(part).expect("ids");
        let coming = merged.coming_from(&own).expect("vectors");
        merged.take_in(coming).expect("ids");
    }
    assert!(merged.save() == whole.save());
}
