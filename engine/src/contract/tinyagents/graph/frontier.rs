//! Computes the next nodes from the nodes that have run.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Definition, NodeId, Source};
use super::protocol::Target;

/// For each node after a barrier, the nodes that have already run.
pub(super) type Arrivals = BTreeMap<NodeId, BTreeSet<NodeId>>;

/// A node that has run, or the start, with the targets that it chose itself.
pub(super) type Left = (Source, Vec<Target>);

impl Definition {
    /// Returns the distinct sources with conditional edges, in order.
    pub(super) fn routes(&self, left: impl Iterator<Item = Source>) -> Vec<Source> {
        let mut routes = Vec::new();
        for source in left {
            if self.conditional.contains(&source) && !routes.contains(&source) {
                routes.push(source);
            }
        }
        routes
    }

    /// Returns the next nodes, in order. A node with an argument occurs once for each send. Any other node occurs once.
    ///
    /// `left` are the nodes that have run. `routed` are the targets of their conditional edges. `arrivals` stores the
    /// finished nodes of each barrier.
    pub(super) fn next(
        &self,
        arrivals: &mut Arrivals,
        left: Vec<Left>,
        routed: Vec<(Source, Vec<Target>)>,
    ) -> Vec<Target> {
        let mut next = Vec::new();
        let mut routed: BTreeMap<Source, Vec<Target>> = routed.into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut opened = Vec::new();
        for (source, chosen) in left {
            for target in chosen {
                join(&mut next, target);
            }
            if !seen.insert(source) {
                continue;
            }
            for edge in self.edges.iter().filter(|edge| edge.from == source) {
                join(&mut next, Target { node: edge.to, arg: None });
            }
            routed.remove(&source).into_iter().flatten().for_each(|target| join(&mut next, target));
            let Some(node) = source else { continue };
            for barrier in self.barriers.iter().filter(|barrier| barrier.from.contains(&node)) {
                let arrived = arrivals.entry(barrier.to).or_default();
                arrived.insert(node);
                if barrier.from.iter().all(|from| arrived.contains(from)) {
                    opened.push(barrier);
                }
            }
        }
        for barrier in opened {
            if let Some(arrived) = arrivals.get_mut(&barrier.to) {
                barrier.from.iter().for_each(|from| {
                    arrived.remove(from);
                });
            }
            join(&mut next, Target { node: barrier.to, arg: None });
        }
        arrivals.retain(|_, arrived| !arrived.is_empty());
        next
    }
}

/// Adds a target, unless the same node is already there without an argument.
pub(super) fn join(next: &mut Vec<Target>, target: Target) {
    if target.arg.is_some() || !next.contains(&target) {
        next.push(target);
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition::{Barrier, Edge, Node};
    use super::*;

    fn plain(node: NodeId) -> Target {
        Target { node, arg: None }
    }

    fn graph(edges: &[(Source, NodeId)], barriers: &[(&[NodeId], NodeId)]) -> Definition {
        Definition {
            nodes: vec![Node::default(); 6],
            edges: edges.iter().map(|(from, to)| Edge { from: *from, to: *to }).collect(),
            barriers: barriers.iter().map(|(from, to)| Barrier { from: from.to_vec(), to: *to }).collect(),
            ..Definition::default()
        }
    }

    #[test]
    fn a_node_runs_once_however_many_edges_lead_to_it_but_every_send_counts() {
        let graph = graph(&[(Some(0), 2), (Some(1), 2), (Some(1), 3)], &[]);
        let sends = vec![Target { node: 2, arg: Some(7) }, Target { node: 2, arg: Some(8) }];
        let left = vec![(Some(0), sends.clone()), (Some(1), vec![])];
        let routed = vec![(Some(1), vec![plain(3), plain(4)])];
        let next = graph.next(&mut Arrivals::new(), left, routed);
        assert_eq!(next, [sends, vec![plain(2), plain(3), plain(4)]].concat());
    }

    #[test]
    fn a_barrier_opens_when_the_last_of_its_nodes_has_run_and_then_begins_again() {
        let graph = graph(&[], &[(&[0, 1], 5), (&[2, 3], 5)]);
        let mut arrivals = Arrivals::new();
        let mut run = |node| graph.next(&mut arrivals, vec![(Some(node), vec![])], vec![]);
        assert_eq!(run(0), []);
        assert_eq!(run(0), []);
        assert_eq!(run(2), []);
        assert_eq!(run(1), [plain(5)]);
        assert_eq!(run(1), []);
        assert_eq!(run(3), [plain(5)]);
        assert_eq!(arrivals, Arrivals::from([(5, BTreeSet::from([1]))]));
    }
}
