//! The order that all pivots lead to.

use super::quotient::{NONE, Quotient, flip};

impl Quotient {
    /// The order: elements by a walk of their tree, each behind what it stands for, dense nodes last.
    pub(super) fn order(mut self) -> Vec<u32> {
        let n = self.n;
        self.place.iter_mut().chain(&mut self.elements).for_each(|value| *value = flip(*value));
        // Of nodes that another stands for, the element that they were eliminated with.
        for i in 0..n {
            if self.size[i] != 0 || self.place[i] == NONE {
                continue;
            }
            let mut element = self.place[i];
            while self.size[element as usize] == 0 {
                element = self.place[element as usize];
            }
            let mut j = i;
            while self.size[j] == 0 {
                j = std::mem::replace(&mut self.place[j], element) as usize;
            }
        }
        let mut by_turn = vec![NONE; n];
        for (element, &turn) in self.walked().iter().enumerate().filter(|(_, turn)| **turn != NONE) {
            by_turn[turn as usize] = element as i32;
        }
        let (mut position, mut next) = (vec![0; n], 0);
        for &element in by_turn.iter().take_while(|element| **element != NONE) {
            position[element as usize] = next;
            next += self.size[element as usize];
        }
        for i in (0..n).filter(|&i| self.size[i] == 0) {
            let of = if self.place[i] == NONE { &mut next } else { &mut position[self.place[i] as usize] };
            let own = *of;
            *of += 1;
            position[i] = own;
        }
        let mut order = vec![0; n];
        position.iter().enumerate().for_each(|(node, &place)| order[place as usize] = node as u32);
        order
    }

    /// The turn of every element in a walk of their tree, children first, of which the largest is the last.
    fn walked(&self) -> Vec<i32> {
        let n = self.n;
        let (mut child, mut sibling) = (vec![NONE; n], vec![NONE; n]);
        for j in (0..n).rev().filter(|&j| self.size[j] > 0 && self.place[j] != NONE) {
            let parent = self.place[j] as usize;
            sibling[j] = child[parent];
            child[parent] = j as i32;
        }
        for i in (0..n).filter(|&i| self.size[i] > 0) {
            let (mut before, mut f) = (NONE, child[i]);
            let (mut largest, mut before_largest, mut most) = (NONE, NONE, NONE);
            while f != NONE {
                if self.elements[f as usize] >= most {
                    (most, before_largest, largest) = (self.elements[f as usize], before, f);
                }
                (before, f) = (f, sibling[f as usize]);
            }
            if largest == NONE || sibling[largest as usize] == NONE {
                continue;
            }
            let after = std::mem::replace(&mut sibling[largest as usize], NONE);
            *(if before_largest == NONE { &mut child[i] } else { &mut sibling[before_largest as usize] }) = after;
            sibling[before as usize] = largest;
        }
        let (mut turns, mut turn) = (vec![NONE; n], 0);
        let mut stack = Vec::new();
        for root in (0..n).filter(|&i| self.place[i] == NONE && self.size[i] > 0) {
            stack.push(root);
            while let Some(&i) = stack.last() {
                let mut f = std::mem::replace(&mut child[i], NONE);
                if f == NONE {
                    stack.pop();
                    turns[i] = turn;
                    turn += 1;
                    continue;
                }
                let first = stack.len();
                while f != NONE {
                    stack.push(f as usize);
                    f = sibling[f as usize];
                }
                stack[first..].reverse();
            }
        }
        turns
    }
}
