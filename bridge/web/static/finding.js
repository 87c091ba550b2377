// What a search finds: each of its words is a part of a name, a hostname, a namespace, a kind or a reason, in any letter case;
// or, as the bridge finds, of a field or a value of a policy.

import { byName, parts, place, short } from "./keys.js";
import { nameOf, text as textOfValue } from "./pointers.js";

const FIELDS = 2; // fields of a policy in a result
const LONGEST = 40; // characters of a value

const texts = new WeakMap(); // nodes and policies at nodes -> their text in lower case; a changed one is another object

/** The words of a search. */
export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Whether all words are in the text of a node; true without words. */
export const isFound = (node, words) =>
  has(words, node, () => [short(node.key), node.level, node.hostnames, node.refused.map(({ reason }) => reason)]);

/** Whether all words are in the text of a policy at a node. */
export const isFoundPolicy = (attached, words) =>
  has(words, attached, () => [short(attached.policy), attached.reasons, attached.reason]);

function has(words, object, parts_) {
  if (!words.length) return true;
  if (!texts.has(object)) texts.set(object, textOf(parts_()));
  const text = texts.get(object);
  return words.every((word) => text.includes(word));
}

const textOf = (terms) => terms.flat().join(" ").toLowerCase();

/**
 * The results of a search, the best first: [{key, note}] of nodes, policies and Constraints, [{namespace}]. `note` says by which hostname,
 * reason or field it was found; `mentions`: policy -> its fields that the bridge has found.
 */
export function find(text, topology, wire, mentions, constraints) {
  const words = wordsOf(text);
  if (!words.length) return [];
  const found = [];
  const add = (key, terms, isPolicy = true) => found.push({ key, isPolicy, note: noteOf(terms, words), rank: rank(key, words) });
  for (const node of topology.nodes.values()) {
    if (isFound(node, words)) add(node.key, [node.hostnames, node.refused.map(({ reason }) => reason)], false);
  }
  for (const policy of wire.policyKeys()) {
    const reasons = wire.reasonsOf(policy);
    const all = textOf([short(policy), reasons]);
    const fields = mentions.get(policy);
    if (fields) found.push({ key: policy, isPolicy: true, note: fields.slice(0, FIELDS).map(fieldNote).join(", "), rank: rank(policy, words) });
    else if (words.every((word) => all.includes(word))) add(policy, topology.attachedTo(policy).length ? [reasons] : [reasons, "without a target"]);
  }
  for (const key of constraints) {
    if (words.every((word) => short(key).toLowerCase().includes(word))) add(key, []);
  }
  const namespaces = [...topology.facets().namespaces.keys()].filter((name) => words.length === 1 && name.includes(words[0]));
  return [
    ...namespaces.sort((one, other) => one.length - other.length).slice(0, 2).map((namespace) => ({ namespace })),
    ...found.sort((one, other) => one.rank - other.rank || Number(one.isPolicy) - Number(other.isPolicy) || byName(short(one.key), short(other.key))),
  ];
}

/** A found field of a policy, `colors.accent: red`. */
export const fieldNote = ({ field, value }) => {
  const said = textOfValue(value);
  return `${nameOf(field)}: ${said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said}`;
};

/** 0 for a name that is a word, 1 for one that begins with one, 2 for one that has one, 3 for anything else. */
function rank(key, words) {
  const { name, section } = parts(key);
  const own = (section || name).toLowerCase();
  const named = [own, place(key).toLowerCase(), short(key).toLowerCase()];
  return Math.min(...words.map((word) => (named.includes(word) ? 0 : own.startsWith(word) ? 1 : own.includes(word) ? 2 : 3)));
}

function noteOf(terms, words) {
  return terms.flat().filter((term) => term === "without a target" || words.some((word) => term.toLowerCase().includes(word))).join(", ");
}
