//! Covariances in time slices: they give way often, come to the same bits, and can be given up anywhere.

use crate::covariance::net::Net;
use crate::covariance::{all, known};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::session::{Progress, Session};

/// Runs a task in slices as short as can be; gives what it came to, and how often it gave way while it worked on the host.
fn sliced(session: &mut Session, task: u32) -> (Progress, Vec<f64>) {
    let mut shares = Vec::new();
    loop {
        match session.resume(task, 0.0).unwrap() {
            Progress::Yielded => {}
            Progress::Partly { done, total } => shares.push(done / total),
            done => return (done, shares),
        }
    }
}

#[test]
fn factors_and_blocks_give_way_and_come_to_the_same() {
    let mut session = cpu(Precision::F64);
    let net = Net::new(&mut session, &mut Random::new(7), &[(130, 3), (130, 3)], 260, false);
    let everything: Vec<u32> = all(&[(net.tables[0].0, 130), (net.tables[1].0, 130)]).iter().flat_map(|of| [of.0, of.1]).collect();
    let mut run = |in_slices: bool| {
        let mut slices = Vec::new();
        let mut ended = |session: &mut Session, task: u32| {
            if !in_slices {
                return finish(session, task, |_| {});
            }
            let (done, shares) = sliced(session, task);
            assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
            slices.push(shares.len());
            done
        };
        let task = session.covariance(net.problem, known()).unwrap();
        let Progress::Covariance(made) = ended(&mut session, task) else { panic!("no covariance") };
        assert_eq!(made.summary.method, "sparse");
        let task = session.covariance_blocks(made.handle, &everything, None, "covariance", false).unwrap();
        let Progress::Values(values) = ended(&mut session, task) else { panic!("no values") };
        session.free_covariance(made.handle);
        (values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>(), slices)
    };
    let (whole, _) = run(false);
    let (in_slices, slices) = run(true);
    assert_eq!(in_slices, whole);
    // Two factors of 780 unknowns that are linked at random, and inverse iteration; then the inverse in the factor's places.
    assert!(slices[0] >= 10 && slices[1] >= 8, "{slices:?}");
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let mut session = cpu(Precision::F64);
    let net = Net::new(&mut session, &mut Random::new(8), &[(60, 3), (60, 3)], 90, true);
    let task = session.covariance(net.problem, known()).unwrap();
    finish(&mut session, task, |_| {});
    let live = session.counters().bytes_live;
    for slices in [0, 1, 2, 5, 20] {
        let task = session.covariance(net.problem, known()).unwrap();
        (0..slices).for_each(|_| assert!(!matches!(session.resume(task, 0.0), Err(_) | Ok(Progress::Covariance(_)))));
        session.cancel(task);
        assert_eq!(session.counters().bytes_live, live, "after {slices} slices");
    }
}
