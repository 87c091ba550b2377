// A color and a monogram for each policy kind, by a hash of its name: the page has no list of kinds.

import { kindName } from "./keys.js";

const PALETTE = [
  "#2f6fd6", "#b4540a", "#23804f", "#9b3aa0", "#c23b3b", "#0d7c8a",
  "#7357d1", "#87690a", "#57771c", "#b83275", "#46657a", "#8f5330",
];

const given = new Map(); // by type: {color, monogram}

/** Assign a color to every type; of two types with one color, the later in the alphabet gets the next free one. */
export function assign(types) {
  given.clear();
  const taken = new Set();
  const sorted = [...types].sort();
  const monograms = distinct(sorted);
  for (const type of sorted) {
    let at = hash(type) % PALETTE.length;
    if (taken.size < PALETTE.length) while (taken.has(at)) at = (at + 1) % PALETTE.length;
    taken.add(at);
    given.set(type, { color: PALETTE[at], monogram: monograms.get(type) });
  }
}

export const colorOf = (type) => given.get(type)?.color ?? PALETTE[hash(type) % PALETTE.length];

export const monogramOf = (type) => given.get(type)?.monogram ?? monogram(type);

/** The first letters of the words in a kind's name: CP of ColorPolicy, BTP of BackendTLSPolicy. */
const monogram = (type) => initials(words(type));

const words = (type) => kindName(type).match(/[A-Z]+(?![a-z])|[A-Z][a-z0-9]*/g) ?? [kindName(type)];

const initials = (all) => all.map((word) => word[0]).join("").slice(0, 3).toUpperCase();

/** Monograms of a kind that shares its initials with others: AhP of AuthPolicy, AnP of AuthorizationPolicy. */
function* variants(type) {
  const [first, ...others] = words(type);
  const rest = initials(others);
  for (let at = 1; at < first.length; at += 1) yield first[0] + first.at(-at) + rest.slice(0, 2);
  for (let number = 2; ; number += 1) yield initials([first, ...others]).slice(0, 2) + number;
}

/** A distinct monogram for each of these sorted types. */
function distinct(types) {
  const sharing = new Map();
  for (const type of types) sharing.set(monogram(type), [...(sharing.get(monogram(type)) ?? []), type]);
  const found = new Map();
  const taken = new Set(sharing.keys());
  for (const [usual, alike] of sharing) {
    for (const type of alike) {
      let chosen = usual;
      if (alike.length > 1) for (chosen of variants(type)) if (!taken.has(chosen)) break;
      taken.add(chosen);
      found.set(type, chosen);
    }
  }
  return found;
}

function hash(text) {
  let value = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
