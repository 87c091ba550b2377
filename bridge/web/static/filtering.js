// The nodes that match the filters, and the links between them: a link skips nodes of hidden kinds.

import { parts, short } from "./keys.js";
import { shownKind } from "./topology.js";

/** Filters that hide nothing. */
export const noFilters = () => ({
  namespaces: new Set(), // only these; empty: all
  hiddenKinds: new Set(),
  hiddenPolicyKinds: new Set(),
  attachedOnly: false,
  text: "",
});

export const isFiltered = (filters) =>
  filters.namespaces.size > 0 || filters.hiddenKinds.size > 0 || filters.hiddenPolicyKinds.size > 0 ||
  filters.attachedOnly || filters.text.trim() !== "";

/** The topology as the filters show it. */
export class Filtered {
  #topology;
  #filters;
  #added;
  #kept; // a Set of keys, or null: all
  #below = new Map();

  /** `added`: policies that would be attached, by node. */
  constructor(topology, filters, added) {
    this.#added = added;
    this.#topology = topology;
    this.#filters = filters;
    this.#kept = kept(topology, filters);
  }

  shows(key) {
    const node = this.#topology.nodes.get(key);
    return node !== undefined && !this.#hidden(node) && (this.#kept === null || this.#kept.has(key));
  }

  policies(key) {
    const hidden = this.#filters.hiddenPolicyKinds;
    const all = [...(this.#topology.nodes.get(key)?.policies ?? []), ...(this.#added.get(key) ?? [])];
    return hidden.size ? all.filter((attached) => !hidden.has(attached.policyKind)) : all;
  }

  /** The nodes shown below a node: key -> whether a hidden node is between them. */
  below(key) {
    let found = this.#below.get(key);
    if (!found) {
      found = new Map();
      for (const child of this.#topology.below(key)) {
        if (this.shows(child)) {
          found.set(child, false);
        } else if (this.#hidden(this.#topology.nodes.get(child))) {
          for (const further of this.below(child).keys()) if (!found.has(further)) found.set(further, true);
        }
      }
      this.#below.set(key, found);
    }
    return found;
  }

  /** The shown nodes without a shown node above them. */
  roots() {
    const found = new Set();
    const enter = (key) => {
      if (this.shows(key)) found.add(key);
      else if (this.#hidden(this.#topology.nodes.get(key))) for (const child of this.#topology.below(key)) enter(child);
    };
    for (const key of this.#topology.roots()) enter(key);
    const under = new Set();
    for (const key of found) for (const below of this.#reach(key)) under.add(below);
    return [...found].filter((key) => !under.has(key));
  }

  count() {
    let total = 0;
    for (const key of this.#topology.nodes.keys()) if (this.shows(key)) total += 1;
    return total;
  }

  *#reach(key) {
    const seen = new Set();
    const waiting = [key];
    while (waiting.length) {
      for (const below of this.below(waiting.pop()).keys()) {
        if (!seen.has(below)) {
          seen.add(below);
          waiting.push(below);
          yield below;
        }
      }
    }
  }

  #hidden(node) {
    return this.#filters.hiddenKinds.has(shownKind(node));
  }
}

function kept(topology, filters) {
  const text = filters.text.trim().toLowerCase();
  if (!filters.namespaces.size && !filters.attachedOnly && !text) return null;
  const matched = [];
  for (const node of topology.nodes.values()) if (matches(node, filters, text)) matched.push(node.key);
  const found = new Set(matched);
  for (const key of topology.ancestors(matched)) found.add(key);
  // A filter by name also shows where the found nodes lead; a filter by namespace shows its content only.
  if (text) {
    for (const key of topology.descendants(matched)) {
      if (!filters.namespaces.size || filters.namespaces.has(parts(key).namespace)) found.add(key);
    }
  }
  return found;
}

function matches(node, filters, text) {
  const attached = node.policies.filter((policy) => !filters.hiddenPolicyKinds.has(policy.policyKind));
  if (filters.attachedOnly && !attached.length) return false;
  if (filters.namespaces.size) {
    const here = filters.namespaces.has(parts(node.key).namespace);
    if (!here && !attached.some((policy) => filters.namespaces.has(parts(policy.policy).namespace))) return false;
  }
  if (!text) return true;
  return short(node.key).toLowerCase().includes(text) ||
    attached.some((policy) => short(policy.policy).toLowerCase().includes(text));
}
