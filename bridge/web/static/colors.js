// A colour and a monogram for each policy kind, by a hash of its name: no kind is known to this page.

const PALETTE = [
  "#2f6fd6", "#b4540a", "#23804f", "#9b3aa0", "#c23b3b", "#0d7c8a",
  "#7357d1", "#87690a", "#57771c", "#b83275", "#46657a", "#8f5330",
];

const given = new Map(); // by type: {color, monogram}

/** Give every type a colour; where two would have one, the later in the alphabet takes the next that is free. */
export function assign(types) {
  given.clear();
  const taken = new Set();
  for (const type of [...types].sort()) {
    let at = hash(type) % PALETTE.length;
    if (taken.size < PALETTE.length) while (taken.has(at)) at = (at + 1) % PALETTE.length;
    taken.add(at);
    given.set(type, { color: PALETTE[at], monogram: monogram(type) });
  }
}

export const colorOf = (type) => given.get(type)?.color ?? PALETTE[hash(type) % PALETTE.length];

export const monogramOf = (type) => given.get(type)?.monogram ?? monogram(type);

/** The first letters of the words in a kind's name: CP of ColorPolicy, BTP of BackendTLSPolicy. */
function monogram(type) {
  const name = type.slice(type.lastIndexOf("/") + 1);
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z][a-z0-9]*/g) ?? [name];
  return words.map((word) => word[0]).join("").slice(0, 3).toUpperCase();
}

function hash(text) {
  let value = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
