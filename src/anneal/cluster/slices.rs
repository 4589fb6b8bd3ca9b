//! Slices of recordings: loops are cut, so that a recording takes no longer than it shall.

use leastwise_device::{Command, Recording};
use std::collections::VecDeque;

/// Rounds of a recording's loops.
pub fn rounds(recording: &Recording) -> u32 {
    recording.commands.iter().map(|command| if let Command::Repeat { max, .. } = command { *max } else { 0 }).sum()
}

/// A recording in parts that have so many rounds of its loops at most: the first one, and the others.
pub fn cut(recording: Recording, rounds: u32) -> (Recording, VecDeque<Recording>) {
    let (mut parts, mut open) = (VecDeque::new(), Vec::new());
    for command in recording.commands {
        match command {
            Command::Repeat { body, mut max, until } => {
                while max > rounds {
                    open.push(Command::Repeat { body: body.clone(), max: rounds, until });
                    parts.push_back(Recording { commands: std::mem::take(&mut open) });
                    max -= rounds;
                }
                open.push(Command::Repeat { body, max, until });
            }
            other => open.push(other),
        }
    }
    parts.push_back(Recording { commands: open });
    (parts.pop_front().unwrap_or_default(), parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_device::{BufferId, Slice};

    #[test]
    fn a_recording_that_is_cut_has_the_same_commands_and_as_many_rounds() {
        let slice = |offset| Slice { buffer: BufferId(1), offset, len: 1 };
        let [before, within, after] = [0, 1, 2].map(|offset| Command::Clear { slice: slice(offset) });
        let repeat = |max| Command::Repeat { body: vec![within.clone()], max, until: (BufferId(2), 0) };
        let whole = Recording { commands: vec![before.clone(), repeat(8), after.clone()] };
        assert_eq!(rounds(&whole), 8);
        for (most, expected) in [(1, vec![1; 8]), (3, vec![3, 3, 2]), (4, vec![4, 4]), (8, vec![8]), (100, vec![8])] {
            let (first, rest) = cut(whole.clone(), most);
            let parts: Vec<Recording> = [first].into_iter().chain(rest).collect();
            assert_eq!(parts.iter().map(rounds).collect::<Vec<_>>(), expected);
            let commands: Vec<Command> = parts.into_iter().flat_map(|part| part.commands).collect();
            assert_eq!((&commands[0], &commands[commands.len() - 1]), (&before, &after));
            assert_eq!(commands[1..commands.len() - 1], expected.into_iter().map(repeat).collect::<Vec<_>>());
        }
        let without = Recording { commands: vec![before, after] };
        assert_eq!(cut(without.clone(), 1), (without, VecDeque::new()));
    }
}
