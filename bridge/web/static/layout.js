// Positions of cards: a column for each level of the hierarchy, as wide as its names. Within a column, cards are ordered so
// that few lines cross, and are near the cards that they are linked to.

import { byName, NOTHING } from "./keys.js";

export const CARD = { height: 42 }; // of an object
export const SECTION = { height: 28 }; // of a listener, a rule, a port
export const PILL = { height: 22, indent: 16, gap: 4 };
export const LEVELS = ["Namespace", "GatewayClass", "Gateway", "ListenerSet", "Listener", "Frontend", "Route", "Rule", "Backend", "Port"];
const ROW_GAP = 14;
const COLUMN_GAP = 44;
const NARROWEST = 98; // pixels of a column
const WIDEST = 300; // pixels of a column if not all names fit
const SWEEPS = 6;
const REACH = 200; // pixels from the first card on the right to a card, at most, where there is room

/** The height that a card takes with the policies below it. */
const blockHeight = ({ height, pills }) => height + pills * (PILL.height + PILL.gap) + (pills ? 4 : 0);

/**
 * Places of cards: {places: Map id -> {x, y (of its middle), width}, columns: [{title, left, width}]}. `cards`: [{id, level,
 * height, pills (a number), need (the width of its texts)}] in the order that they should keep, `edges`: [{from, to, side}],
 * `room`: the width of the frame, up to which no name is cut.
 */
export function arrange(cards, edges, room) {
  const drawn = cards.filter(({ level }) => level !== NOTHING);
  const linked = linksOf(drawn, edges.filter(({ side }) => !side));
  const columns = columnsOf(drawn, linked);
  if (!isTree(linked)) order(columns, linked); // the order of a tree has no crossings
  const tops = stacked(columns, linked);
  const natural = columns.map((column) => Math.max(NARROWEST, ...column.map(({ need }) => need)));
  const isRoomy = natural.reduce((sum, width) => sum + width + COLUMN_GAP, 0) <= room;
  const places = new Map();
  const found = [];
  let left = 0;
  for (const [at, column] of columns.entries()) {
    const width = isRoomy ? natural[at] : Math.min(WIDEST, natural[at]);
    found.push({ title: [...new Set(column.map(({ level }) => level))].join(" · "), left, width });
    for (const card of column) places.set(card.id, { x: left + width / 2, y: tops.get(card.id) + card.height / 2, width });
    left += width + COLUMN_GAP;
  }
  const bottom = Math.max(0, ...drawn.map((card) => tops.get(card.id) + blockHeight(card)));
  attachedToNothing(cards.filter(({ level }) => level === NOTHING), places, bottom + (drawn.length ? 3 * ROW_GAP : 0), Math.max(left, room));
  return { places, columns: found };
}

/** A row, or several, below everything else. */
function attachedToNothing(cards, places, top, room) {
  let [left, y, high] = [0, top, 0];
  for (const card of cards) {
    const width = Math.min(WIDEST, Math.max(NARROWEST, card.need));
    if (left > 0 && left + width > room) [left, y, high] = [0, y + high + ROW_GAP, 0];
    places.set(card.id, { x: left + width / 2, y: y + card.height / 2, width });
    high = Math.max(high, blockHeight(card));
    left += width + COLUMN_GAP / 2;
  }
}

const isTree = ({ before }) => [...before.values()].every((above) => above.length < 2);

/** The linked cards to the left and to the right of each card. */
function linksOf(cards, edges) {
  const byId = new Map(cards.map((card) => [card.id, card]));
  const found = { before: new Map(), after: new Map() };
  for (const { id } of cards) for (const map of [found.before, found.after]) map.set(id, []);
  for (const { from, to } of edges) {
    if (!byId.has(from) || !byId.has(to)) continue;
    found.before.get(to).push(byId.get(from));
    found.after.get(from).push(byId.get(to));
  }
  return found;
}

/** Columns by level, and of linked cards of one level by their depth. */
function columnsOf(cards, links) {
  const { before } = links;
  const ranks = ranksOf(cards, links);
  const depths = new Map();
  const depth = (card, seen) => {
    if (depths.has(card.id)) return depths.get(card.id);
    if (seen.has(card.id)) return 0;
    seen.add(card.id);
    const same = before.get(card.id).filter(({ level }) => level === card.level);
    const found = Math.max(0, ...same.map((above) => depth(above, seen) + 1));
    depths.set(card.id, found);
    return found;
  };
  const columns = new Map();
  for (const card of cards) {
    const id = JSON.stringify([ranks.get(card.level), card.level, depth(card, new Set())]);
    if (columns.has(id)) columns.get(id).push(card);
    else columns.set(id, [card]);
  }
  const place = (id) => JSON.parse(id);
  return [...columns].map(([id, column]) => ({ place: place(id), column }))
    .sort(({ place: [one, level, depth_] }, { place: [other, otherLevel, otherDepth] }) => one - other || byName(level, otherLevel) || depth_ - otherDepth)
    .map(({ column }) => column);
}

/** The order of levels; a level that an extension defines is before those that it leads to, or after those that lead to it. */
function ranksOf(cards, { before, after }) {
  const ranks = new Map(LEVELS.map((level, at) => [level, at]));
  for (const level of new Set(cards.map((card) => card.level))) {
    if (ranks.has(level)) continue;
    const own = cards.filter((card) => card.level === level);
    const beside = (links) => own.flatMap(({ id }) => links.get(id)).map((card) => LEVELS.indexOf(card.level)).filter((at) => at >= 0);
    const [below, above] = [beside(after), beside(before)];
    ranks.set(level, below.length ? Math.min(...below) - 0.5 : above.length ? Math.max(...above) + 0.5 : LEVELS.length);
  }
  return ranks;
}

/** Sort each column by the middle of its links, from left to right and back. */
function order(columns, { before, after }) {
  const at = new Map();
  const note = (column) => column.forEach((card, place) => at.set(card.id, (place + 0.5) / column.length));
  columns.forEach(note);
  const sort = (column, links) => {
    const middles = new Map(column.map((card) => [card.id, mean(links.get(card.id).map(({ id }) => at.get(id))) ?? at.get(card.id)]));
    column.sort((one, other) => middles.get(one.id) - middles.get(other.id));
    note(column);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of columns) sort(column, before);
    for (const column of columns.toReversed()) sort(column, after);
  }
  for (const column of columns) sort(column, before);
}

/** The top of each card: as near as possible to the middle of its links, without covering its neighbors. */
function stacked(columns, { before, after }) {
  const tops = new Map();
  for (const column of columns) {
    let top = 0;
    for (const card of column) {
      tops.set(card.id, top);
      top += blockHeight(card) + ROW_GAP;
    }
  }
  const middle = (card) => tops.get(card.id) + card.height / 2;
  const settle = (column, links) => {
    const wanted = column.map((card) => (mean(links(card).map(middle)) ?? middle(card)) - card.height / 2);
    for (const [at, top] of apart(column.map(blockHeight), wanted).entries()) tops.set(column[at].id, top);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of columns) settle(column, ({ id }) => before.get(id));
    for (const column of columns.toReversed()) settle(column, ({ id }) => after.get(id));
  }
  for (const column of columns) settle(column, ({ id }) => [...before.get(id), ...after.get(id)]);
  // The middle of a hundred routes is below the first screen: a card is not far below the first one that it leads to.
  for (const column of columns.toReversed()) {
    const wanted = column.map(({ id }) => Math.min(tops.get(id), Math.min(...after.get(id).map((below) => tops.get(below.id))) + REACH));
    for (const [at, top] of apart(column.map(blockHeight), wanted).entries()) tops.set(column[at].id, top);
  }
  const least = Math.min(...tops.values());
  for (const [id, top] of tops) tops.set(id, top - least);
  return tops;
}

/** Places in this order, nearest to the wanted ones, that do not overlap: groups of neighbors share the mean of their wishes. */
function apart(heights, wanted) {
  const offsets = [0];
  for (const height of heights) offsets.push(offsets.at(-1) + height + ROW_GAP);
  const groups = [];
  wanted.forEach((top, at) => {
    let group = { sum: top - offsets[at], count: 1 };
    while (groups.length && groups.at(-1).sum / groups.at(-1).count > group.sum / group.count) {
      const last = groups.pop();
      group = { sum: last.sum + group.sum, count: last.count + group.count };
    }
    groups.push(group);
  });
  return groups.flatMap(({ sum, count }) => Array(count).fill(sum / count)).map((top, at) => top + offsets[at]);
}

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined);
