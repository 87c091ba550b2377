// The nodes that match the filters, and the links between them: a link skips nodes of hidden kinds.

import { NOTHING, parts } from "./keys.js";
import { isFound, isFoundPolicy, wordsOf } from "./finding.js";
import { outcomesAt, shownKind } from "./topology.js";

/** Filters that hide nothing. */
export const noFilters = () => ({
  namespaces: new Set(), // only these; empty: all
  hiddenKinds: new Set(),
  hiddenPolicyKinds: new Set(),
  violations: new Set(), // only what violates one of these Constraints; empty: everything
  outcomes: new Set(), // only where policies or links have one of these; empty: everywhere
  without: "", // only effective targets without this policy kind, or field of it: KIND[.spec.FIELD]
  focus: undefined, // only this node, and those above and below it
  text: "",
});

export const isFiltered = (filters) =>
  ["namespaces", "hiddenKinds", "hiddenPolicyKinds", "outcomes", "violations"].some((name) => filters[name].size > 0) ||
  filters.without !== "" || filters.focus !== undefined || filters.text.trim() !== "";

/** The topology as the filters show it. */
export class Filtered {
  #topology;
  #filters;
  #added;
  #kept; // a Set of keys, or null: all
  #below = new Map();

  /** `added`: policies that would be attached, by node; `violations`: a Violations; `uncovered`: Set of targets, or null. */
  constructor(topology, filters, added, violations, uncovered) {
    this.#added = added;
    this.#topology = topology;
    this.#filters = filters;
    this.#kept = kept(topology, filters, violations, uncovered);
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
    for (const [key, { level }] of this.#topology.nodes) if (level !== NOTHING && this.shows(key)) total += 1;
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

function kept(topology, filters, violations, uncovered) {
  const { namespaces, outcomes, focus } = filters;
  const words = wordsOf(filters.text);
  if (!namespaces.size && !outcomes.size && !filters.violations.size && !uncovered && !words.length && focus === undefined) return null;
  const within = focus !== undefined && topology.has(focus)
    ? new Set([focus, ...topology.ancestors([focus]), ...topology.descendants([focus])]) : topology.nodes;
  const matched = [...within.keys()].filter((key) => (!uncovered || uncovered.has(key)) && matches(topology.nodes.get(key), filters, words, violations));
  const found = new Set([...matched, ...topology.ancestors(matched)]);
  // A search also shows where the found nodes lead; a filter by namespace shows its content only.
  if (words.length) {
    for (const key of topology.descendants(matched)) {
      if (!namespaces.size || namespaces.has(parts(key).namespace)) found.add(key);
    }
  }
  for (const key of found) if (!within.has(key)) found.delete(key);
  return found;
}

function matches(node, { hiddenPolicyKinds, outcomes, namespaces, violations: violated }, words, violations) {
  const policies = node.policies.filter((policy) => !hiddenPolicyKinds.has(policy.policyKind));
  if (violated.size && !violations.concern(node, violated)) return false;
  if (outcomes.size && ![...outcomesAt({ policies, refused: node.refused })].some((outcome) => outcomes.has(outcome))) return false;
  if (namespaces.size) {
    const here = namespaces.has(parts(node.key).namespace);
    if (!here && !policies.some(({ policy }) => namespaces.has(parts(policy).namespace))) return false;
  }
  return isFound(node, words) || policies.some((policy) => isFoundPolicy(policy, words));
}
