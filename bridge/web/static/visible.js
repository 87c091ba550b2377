// The drawn nodes: from the roots down, up to a number. The others are inside closed nodes and groups.

import { entries } from "./grouping.js";
import { byName, NOTHING, parts } from "./keys.js";

export const ROOM = 240; // nodes up to which everything is open
const OVERVIEW = 64; // nodes up to which levels are open otherwise
const FAN = 40; // siblings that are not grouped then
const FAN_OPEN = 120; // the same if everything is open

/**
 * The part of a filtered topology that is shown.
 *
 * `opened`: the ids that the user opened or closed -> bool. `apart`: keys that must be visible. `isWhole`: whether all
 * nodes were loaded. Returns {nodes: Map id -> {id, key?, group?, open, inside (the number of nodes below)},
 * edges: [{id, from, to, transitive, side}], children: Map id -> [ids], roots: [ids], total, everything}.
 */
export function visible(topology, filtered, opened, apart, isWhole = true) {
  const total = filtered.count();
  const everything = isWhole && total <= ROOM;
  const fan = everything ? FAN_OPEN : FAN;
  const revealed = withChains(topology, filtered, apart);
  const shown = { nodes: new Map(), edges: [], children: new Map(), roots: [], total, everything };
  const below = ({ id, key, group }) =>
    entries(topology, id, group ? group.keys : [...filtered.below(key).keys()].sort(byName), fan, revealed);
  const show = (entry) => {
    if (shown.nodes.has(entry.id)) return false;
    const inside = entry.group ? entry.group.keys.length : insideOf(topology, filtered, entry.key, isWhole);
    shown.nodes.set(entry.id, { ...entry, open: false, inside });
    return true;
  };

  let layer = entries(topology, "", filtered.roots().sort(byName), fan, revealed);
  shown.roots = layer.map((entry) => entry.id);
  layer = layer.filter(show);
  for (let automatic = true; layer.length; ) {
    // A level opens automatically as a whole or not at all, so that its number of nodes decides and not their names.
    const found = layer.map((entry) => [entry, shown.nodes.get(entry.id).inside ? below(entry) : []]);
    const count = found.reduce((sum, [{ group }, inner]) => sum + (group ? 0 : inner.length), 0);
    automatic &&= everything || shown.nodes.size + count <= OVERVIEW;
    const next = [];
    for (const [entry, inner] of found) {
      const open = opened.get(entry.id) ?? (automatic && !entry.group);
      const seen = open ? inner : inner.filter((one) => one.key !== undefined && revealed.has(one.key));
      if (!seen.length) continue;
      shown.nodes.get(entry.id).open = open;
      shown.children.set(entry.id, seen.map((one) => one.id));
      next.push(...seen.filter(show));
    }
    layer = next;
  }
  connect(shown, filtered);
  sides(topology, shown);
  return shown;
}

function insideOf(topology, filtered, key, isWhole) {
  const shown = filtered.below(key).size;
  return isWhole || !topology.isCut(key) ? shown : topology.nodes.get(key).count;
}

/** Keys with the nodes above them, which must be drawn to make them visible. */
function withChains(topology, filtered, apart) {
  const present = [...apart].filter((key) => filtered.shows(key));
  const found = new Set(present);
  for (const key of present) {
    let above = key;
    for (let steps = 0; above && steps < 20; steps += 1) {
      above = topology.above(above).find((one) => filtered.shows(one));
      if (above) found.add(above);
    }
  }
  return found;
}

/** Edges between drawn nodes, also to a node that is drawn because of another path. */
function connect(shown, filtered) {
  const seen = new Set();
  const add = (from, to, transitive) => {
    const id = `${from}\n${to}`;
    if (!seen.has(id)) {
      seen.add(id);
      shown.edges.push({ id, from, to, transitive, side: false });
    }
  };
  for (const [id, children] of shown.children) {
    const { key } = shown.nodes.get(id);
    const links = key === undefined ? undefined : filtered.below(key);
    for (const child of children) add(id, child, links?.get(shown.nodes.get(child).key) ?? false);
  }
  for (const { id, key } of shown.nodes.values()) {
    if (key === undefined) continue;
    for (const [child, transitive] of filtered.below(key)) if (shown.nodes.has(child)) add(id, child, transitive);
  }
}

/** Edges from a Namespace with policies to the objects in it, beside their hierarchy: it opens nothing. */
function sides(topology, shown) {
  const named = new Map();
  for (const { id, key } of shown.nodes.values()) {
    if (key !== undefined && topology.nodes.get(key).level === "Namespace") named.set(parts(key).name, id);
  }
  if (!named.size) return;
  for (const { id, key, group } of shown.nodes.values()) {
    if (key !== undefined && parts(key).section) continue;
    const { namespace } = key === undefined ? group : parts(key);
    const from = named.get(namespace);
    if (from !== undefined) shown.edges.push({ id: `${from}\n${id}`, from, to: id, transitive: true, side: true });
  }
}

/** Policies of an entry as pills: {id, attached} for a node, {id, count, …} by kind for a group. */
export function pills(filtered, entry, most = 5) {
  if (entry.group) return summed(filtered, entry);
  const policies = [...filtered.policies(entry.key)].sort((one, other) => byName(one.policy, other.policy));
  const shown = policies.length > most ? policies.slice(0, most - 1) : policies;
  /** @type {any[]} */
  const found = shown.map((attached) => ({ id: `${attached.policy}\n@${entry.id}`, attached, policyKind: attached.policyKind }));
  if (policies.length > shown.length) {
    found.push({ id: `more\n@${entry.id}`, more: policies.length - shown.length, policyKind: "" });
  }
  return found;
}

function summed(filtered, entry) {
  const kinds = new Map();
  for (const key of entry.group.keys) {
    for (const attached of filtered.policies(key)) {
      const found = kinds.get(attached.policyKind) ?? { count: 0, overridden: 0 };
      found.count += 1;
      if (attached.outcome === "Overridden") found.overridden += 1;
      kinds.set(attached.policyKind, found);
    }
  }
  return [...kinds].sort().map(([policyKind, found]) => ({ id: `${policyKind}\n@${entry.id}`, policyKind, ...found }));
}

/** The names of an entry: {caption, name}. */
export function naming(topology, entry) {
  if (entry.group) {
    const { title, keys, range, namespace } = entry.group;
    return { caption: `${keys.length.toLocaleString("en")} × ${title}`, name: range ?? (namespace || `All ${title}`) };
  }
  const { kind, namespace, name, section, role } = parts(entry.key);
  const { level } = topology.nodes.get(entry.key);
  if (section) return { caption: level, name: section };
  if (level === NOTHING) return { caption: namespace || "cluster", name: "Attached to nothing" };
  return { caption: `${kind}${role ? ` · ${role}` : ""}${namespace ? ` · ${namespace}` : ""}`, name };
}
