// Positions of cards: columns from left to right, by dagre if that is quick, otherwise by a plain walk.

import dagre from "./vendor/dagre.js";

export const CARD = { width: 176, height: 46 }; // of an object
export const SECTION = { width: 144, height: 40 }; // of a listener, a rule, a port
export const PILL = { height: 21, indent: 18, gap: 5 };
const ROW_GAP = 15;
const COLUMN_GAP = 40;
const DAGRE_NODES = 160; // beyond, dagre is too slow for an update

/** The height that a card takes with the policies below it. */
const blockHeight = ({ size, pills }) => size.height + pills * (PILL.height + PILL.gap) + (pills ? 4 : 0);

/**
 * Positions of the middles of cards, by id. `cards`: [{id, size, pills (a number)}] in the order they should keep,
 * `edges`: [{from, to, side}], `children`: Map id -> ids, `roots`: ids.
 */
export function arrange(cards, edges, children, roots) {
  // A tree has no crossings to avoid and keeps its order.
  const plain = cards.length > DAGRE_NODES || isTree(edges);
  const blocks = plain ? byWalk(cards, edges, children, roots) : byDagre(cards, edges);
  const positions = new Map();
  for (const card of cards) {
    const { x, y } = blocks.get(card.id);
    positions.set(card.id, { x, y: y - blockHeight(card) / 2 + card.size.height / 2 });
  }
  return positions;
}

function isTree(edges) {
  return new Set(edges.map(({ to }) => to)).size === edges.length;
}

function byDagre(cards, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: ROW_GAP, ranksep: COLUMN_GAP, edgesep: 6, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const card of cards) graph.setNode(card.id, { width: card.size.width, height: blockHeight(card) });
  for (const { from, to, side } of edges) graph.setEdge(from, to, { weight: side ? 0 : 1, minlen: 1 });
  dagre.layout(graph);
  return new Map(cards.map(({ id }) => [id, graph.node(id)]));
}

/** Columns by the longest way from a root. A parent is at the middle of the children that were placed for it. */
function byWalk(cards, edges, children, roots) {
  const heights = new Map(cards.map((card) => [card.id, blockHeight(card) + ROW_GAP]));
  const columns = ranks(cards, edges);
  const blocks = new Map();
  const next = new Map(); // the first free y of each column
  const place = (id) => {
    if (blocks.has(id)) return;
    const column = columns.get(id);
    const block = { x: column * (CARD.width + COLUMN_GAP), y: 0 };
    blocks.set(id, block);
    const own = (children.get(id) ?? []).filter((child) => !blocks.has(child));
    const height = heights.get(id);
    const free = next.get(column) ?? 0;
    own.forEach(place);
    const middle = own.length ? (blocks.get(own[0]).y + blocks.get(own.at(-1)).y) / 2 : free + height / 2;
    block.y = Math.max(middle, free + height / 2);
    next.set(column, block.y + height / 2);
    // Nodes below a later sibling must not move above this block.
    for (const deeper of next.keys()) if (deeper > column) next.set(deeper, Math.max(next.get(deeper), free));
  };
  roots.forEach(place);
  for (const { id } of cards) place(id);
  return blocks;
}

function ranks(cards, edges) {
  const below = new Map(cards.map(({ id }) => [id, []]));
  const open = new Map(cards.map(({ id }) => [id, 0]));
  for (const { from, to } of edges) {
    below.get(from).push(to);
    open.set(to, open.get(to) + 1);
  }
  const found = new Map(cards.map(({ id }) => [id, 0]));
  const queue = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  for (let at = 0; at < queue.length; at += 1) {
    for (const id of below.get(queue[at])) {
      found.set(id, Math.max(found.get(id), found.get(queue[at]) + 1));
      open.set(id, open.get(id) - 1);
      if (open.get(id) === 0) queue.push(id);
    }
  }
  return found;
}
