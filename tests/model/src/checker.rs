//! The search: every world that can be reached, the shortest way first.
//!
//! *Safety*: a world in which a promise is broken ends the search; since it goes breadth first, its
//! way there is a shortest one.
//!
//! *Liveness*, that nothing is lost, is checked on the whole graph once it is known: there is no
//! world with an unfinished job in which nothing can happen, and no cycle of such worlds. A cycle
//! spends no fault and no call, since both are counted; time passes only when no actor can go on,
//! so that no cycle starves one that could. Every infinite way through finitely many worlds has a
//! cycle: without one, every way ends, and it ends with all jobs finished.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::bounds::Bounds;
use crate::fingerprint::fingerprint;
use crate::promises::Promise;
use crate::steps::{Step, beginnings, steps};
use crate::world::World;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// How many worlds were reached.
    pub states: usize,
    /// How many steps lead between them.
    pub steps: usize,
    /// What was done in them, and how it came out: the words and notes of the steps.
    pub done: BTreeSet<(&'static str, &'static str)>,
    /// How the search came out.
    pub verdict: Verdict,
}

/// How a search came out.
#[derive(Debug)]
pub enum Verdict {
    /// Every promise is kept in every world.
    Kept,
    /// A promise is broken, and a shortest way there.
    Broken(Promise, Vec<Step>),
    /// A job is never finished: the way to the cycle, or to the end, and the cycle.
    Lost(Vec<Step>, Vec<Step>),
    /// There are more worlds than the bounds allow.
    TooMany,
}

/// A fingerprint is a hash already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for (place, byte) in bytes.iter().take(8).enumerate() {
            self.0 |= u64::from(*byte) << (8 * place);
        }
    }

    fn write_u128(&mut self, number: u128) {
        self.write(&number.to_le_bytes());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The number of a world, in the order in which they were found.
type Id = u32;

/// The graph as it is known so far.
#[derive(Default)]
struct Graph {
    ids: HashMap<u128, Id, BuildHasherDefault<AsItIs>>,
    /// Where each world was found first: from which one, by which of its steps.
    found_by: Vec<(Id, u16)>,
    /// Whether each has an unfinished job.
    is_unfinished: Vec<bool>,
    /// The worlds that follow the unfinished ones, in the order of their numbers.
    next: Vec<Id>,
    /// Where those of each world begin.
    next_from: Vec<usize>,
}

/// The world before the beginnings.
const NOWHERE: Id = Id::MAX;

impl Graph {
    /// Gives the number of a world, and whether it is new.
    fn note(&mut self, world: &World, bounds: &Bounds, by: (Id, u16)) -> (Id, bool) {
        let new = Id::try_from(self.found_by.len()).unwrap_or(NOWHERE);
        let id = *self.ids.entry(fingerprint(world, bounds)).or_insert(new);
        if id == new {
            self.found_by.push(by);
            self.is_unfinished.push(world.has_unfinished());
        }
        (id, id == new)
    }

    /// Gives the way on which a world was found first.
    fn way_to(&self, bounds: &Bounds, id: Id) -> Vec<Step> {
        let mut taken = Vec::new();
        let mut at = id;
        while at != NOWHERE {
            let (from, step) = self.found_by[at as usize];
            taken.push(usize::from(step));
            at = from;
        }
        let mut way: Vec<Step> = Vec::new();
        for step in taken.into_iter().rev() {
            let all = match way.last() {
                None => beginnings(bounds),
                Some(last) => steps(&last.world, bounds),
            };
            way.extend(all.into_iter().nth(step));
        }
        way
    }

    fn next_of(&self, id: Id) -> &[Id] {
        let at = id as usize;
        &self.next[self.next_from[at]..self.next_from[at + 1]]
    }
}

/// A search as far as it has come.
struct Search<'a> {
    bounds: &'a Bounds,
    graph: Graph,
    /// The worlds whose steps were not taken yet, in the order of their numbers.
    waiting: VecDeque<World>,
    steps: usize,
    done: BTreeSet<(&'static str, &'static str)>,
}

impl Search<'_> {
    /// Notes the worlds that steps from one world lead to; tells of a promise that one breaks.
    fn note_all(&mut self, from: Id, all: Vec<Step>) -> Option<(Promise, Id)> {
        let is_unfinished = from != NOWHERE && self.graph.is_unfinished[from as usize];
        self.steps += all.len();
        for (place, Step { words, world }) in all.into_iter().enumerate() {
            self.done.insert((words.text, words.note));
            let by = (from, u16::try_from(place).unwrap_or(u16::MAX));
            let (id, is_new) = self.graph.note(&world, self.bounds, by);
            if is_unfinished {
                self.graph.next.push(id);
            }
            if let Some(promise) = world.broken {
                return Some((promise, id));
            }
            if is_new {
                self.waiting.push_back(world);
            }
        }
        None
    }

    fn run(&mut self) -> Verdict {
        let mut broken = self.note_all(NOWHERE, beginnings(self.bounds));
        while let (None, Some(world)) = (broken, self.waiting.pop_front()) {
            if self.graph.found_by.len() > self.bounds.states_max {
                return Verdict::TooMany;
            }
            let id = Id::try_from(self.graph.next_from.len()).unwrap_or(NOWHERE);
            self.graph.next_from.push(self.graph.next.len());
            broken = self.note_all(id, steps(&world, self.bounds));
        }
        self.graph.next_from.push(self.graph.next.len());
        match broken {
            Some((promise, id)) => Verdict::Broken(promise, self.graph.way_to(self.bounds, id)),
            None => lost(&self.graph, self.bounds),
        }
    }
}

/// Searches all worlds within the bounds.
pub fn search(bounds: &Bounds) -> Found {
    let (graph, waiting) = (Graph::default(), VecDeque::new());
    let mut search = Search { bounds, graph, waiting, steps: 0, done: BTreeSet::new() };
    let verdict = search.run();
    let Search { graph, steps, done, .. } = search;
    Found { states: graph.found_by.len(), steps, done, verdict }
}

/// Looks for a job that is never finished.
fn lost(graph: &Graph, bounds: &Bounds) -> Verdict {
    let all = 0..Id::try_from(graph.found_by.len()).unwrap_or(NOWHERE);
    let mut unfinished = all.filter(|id| graph.is_unfinished[*id as usize]);
    if let Some(end) = unfinished.find(|id| graph.next_of(*id).is_empty()) {
        return Verdict::Lost(graph.way_to(bounds, end), Vec::new());
    }
    match cycle(graph) {
        None => Verdict::Kept,
        Some(cycle) => {
            let way = graph.way_to(bounds, cycle[0]);
            let around = follow(graph, bounds, &way, &cycle);
            Verdict::Lost(way, around)
        }
    }
}

/// How far the walk that looks for a cycle is with a world.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walked {
    Not,
    OnTheWay,
    Done,
}

/// Finds a cycle of worlds with an unfinished job, walking depth first.
fn cycle(graph: &Graph) -> Option<Vec<Id>> {
    let mut walked = vec![Walked::Not; graph.found_by.len()];
    let mut way: Vec<(Id, usize)> = Vec::new();
    for start in 0..Id::try_from(graph.found_by.len()).unwrap_or(NOWHERE) {
        if walked[start as usize] != Walked::Not {
            continue;
        }
        way.push((start, 0));
        walked[start as usize] = Walked::OnTheWay;
        while let Some((id, taken)) = way.last_mut() {
            let next = graph.next_of(*id).get(*taken).copied();
            *taken += 1;
            match next {
                None => {
                    walked[*id as usize] = Walked::Done;
                    way.pop();
                }
                Some(next) if walked[next as usize] == Walked::OnTheWay => {
                    let ids: Vec<Id> = way.iter().map(|(id, _)| *id).collect();
                    let from = ids.iter().position(|id| *id == next)?;
                    return Some(ids[from..].to_vec());
                }
                Some(next) if walked[next as usize] == Walked::Not => {
                    walked[next as usize] = Walked::OnTheWay;
                    way.push((next, 0));
                }
                Some(_) => {}
            }
        }
    }
    None
}

/// Gives the steps of a cycle.
fn follow(graph: &Graph, bounds: &Bounds, way: &[Step], cycle: &[Id]) -> Vec<Step> {
    let Some(mut world) = way.last().map(|step| step.world.clone()) else { return Vec::new() };
    let mut around = Vec::new();
    for id in cycle.iter().skip(1).chain(cycle.first()) {
        let leads_there =
            |step: &Step| graph.ids.get(&fingerprint(&step.world, bounds)) == Some(id);
        let Some(step) = steps(&world, bounds).into_iter().find(leads_there) else { break };
        world = step.world.clone();
        around.push(step);
    }
    around
}
