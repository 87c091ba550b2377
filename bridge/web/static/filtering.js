// The nodes that match the filters, and the links between them: a link skips nodes of hidden kinds. A search hides nothing.

import { NOTHING, parts } from "./keys.js";
import { outcomesAt, shownKind } from "./topology.js";

/** Filters that hide nothing. */
export const noFilters = () => ({
  namespaces: new Set(), // only these; empty: all
  hiddenKinds: new Set(),
  hiddenPolicyKinds: new Set(),
  problems: false, // only what needs attention: what has a problem, or violates a Constraint
  violations: new Set(), // only what violates one of these Constraints; empty: everything
  outcomes: new Set(), // only where policies or links have one of these; empty: everywhere
  without: "", // only effective targets without this policy kind, or field of it: KIND[.spec.FIELD]
  focus: undefined, // only this node, and those above and below it
  text: "", // of the search, which marks what it finds
});

export const isFiltered = (filters) =>
  ["namespaces", "hiddenKinds", "hiddenPolicyKinds", "outcomes", "violations"].some((name) => filters[name].size > 0) ||
  filters.problems || filters.without !== "" || filters.focus !== undefined;

/** The text for an empty list or picture. Objects that are not in the hierarchy have problems too, which the overview lists. */
export function nothingShown(filters, topology, wire) {
  if (topology.size === 0 && wire.policies === 0) return "There are no objects yet.";
  return filters.problems && wire.troubledKeys().length > 0 ? "No object here has problems. \"Needs attention\" lists those of others."
    : "No object matches the filters.";
}

/** The topology as the filters show it. */
export class Filtered {
  #topology;
  #filters;
  #added;
  #matched; // a Set of keys, or null: all
  #kept; // the same with the nodes above
  #idle; // a Set of keys that the picture leaves out
  #troubled; // a Set of keys of what needs attention
  #below = new Map();

  /**
   * `added`: policies that would be attached, by node; `violations`: a Violations; `troubled`: Set of what has problems;
   * `uncovered`: Set of targets, or null; `apart`: Set of keys that must not be left out.
   */
  constructor(topology, filters, added, violations, troubled, uncovered, apart) {
    this.#added = added;
    this.#topology = topology;
    this.#filters = filters;
    this.#troubled = new Set([...troubled, ...violations.concerned()]);
    this.#matched = matched(topology, filters, violations, this.#troubled, uncovered);
    this.#kept = this.#matched && kept(topology, filters, this.#matched);
    this.#idle = idle(topology, violations, apart);
  }

  /** Whether the picture has a node. */
  shows(key) {
    return this.#passes(key) && !this.#idle.has(key);
  }

  /** Whether the list has a node: it has no others above those that match. */
  lists(key) {
    return this.#passes(key) && (this.#matched === null || this.#matched.has(key));
  }

  /** Whether the list has a policy, which is shown at these nodes. */
  listsPolicy(attached, nodes) {
    const { hiddenPolicyKinds, namespaces, outcomes, violations } = this.#filters;
    const namespace = parts(attached.policy).namespace;
    if (hiddenPolicyKinds.has(attached.policyKind) || (namespaces.size && !namespaces.has(namespace))) return false;
    if (outcomes.size && ![...outcomesAt({ policies: [attached], refused: [] })].some((outcome) => outcomes.has(outcome))) return false;
    if (this.#filters.problems && !this.#troubled.has(attached.policy)) return false;
    const isLimited = violations.size > 0 || this.#filters.without !== "" || this.#filters.focus !== undefined;
    return !isLimited || nodes.some((key) => this.lists(key));
  }

  #passes(key) {
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
      else if (this.#idle.has(key) || this.#hidden(this.#topology.nodes.get(key))) for (const child of this.#topology.below(key)) enter(child);
    };
    for (const key of this.#topology.roots()) enter(key);
    const under = new Set();
    for (const key of found) for (const below of this.#reach(key)) under.add(below);
    return [...found].filter((key) => !under.has(key));
  }

  count() {
    let total = 0;
    for (const [key, { level }] of this.#topology.nodes) if (level !== NOTHING && this.#passes(key)) total += 1;
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

/** The nodes that match the filters; null without filters. */
function matched(topology, filters, violations, troubled, uncovered) {
  const { namespaces, outcomes, problems, focus } = filters;
  if (!problems && !namespaces.size && !outcomes.size && !filters.violations.size && !uncovered && focus === undefined) return null;
  const within = around(topology, focus);
  return new Set([...within.keys()].filter((key) => (!uncovered || uncovered.has(key)) && matches(topology.nodes.get(key), filters, violations, troubled)));
}

/** The matched nodes and those above them. */
function kept(topology, { focus }, matches_) {
  const within = around(topology, focus);
  const found = new Set([...matches_, ...topology.ancestors(matches_)]);
  for (const key of found) if (!within.has(key)) found.delete(key);
  return found;
}

const around = (topology, focus) =>
  focus !== undefined && topology.has(focus) ? new Set([focus, ...topology.ancestors([focus]), ...topology.descendants([focus])]) : topology.nodes;

function matches(node, { hiddenPolicyKinds, outcomes, problems, namespaces, violations: violated }, violations, troubled) {
  const policies = node.policies.filter((policy) => !hiddenPolicyKinds.has(policy.policyKind));
  if (violated.size && !violations.concern(node, violated)) return false;
  if (problems && ![node.key, ...policies.map(({ policy }) => policy)].some((key) => troubled.has(key))) return false;
  if (outcomes.size && ![...outcomesAt({ policies, refused: node.refused })].some((outcome) => outcomes.has(outcome))) return false;
  return !namespaces.size || namespaces.has(parts(node.key).namespace) || policies.some(({ policy }) => namespaces.has(parts(policy).namespace));
}

/** Returns nodes that carry no information in the picture: the only GatewayClass and the only port of a backend, if they have no policies and no marks. */
function idle(topology, violations, apart) {
  const found = new Set();
  const isPlain = (node) => !node.policies.length && !node.refused.length && !apart.has(node.key) && !violations.mark(node.key);
  const classes = [...topology.nodes.values()].filter(({ level }) => level === "GatewayClass");
  for (const node of classes.length === 1 && topology.nodes.size > 1 ? classes : []) if (isPlain(node)) found.add(node.key);
  for (const node of topology.nodes.values()) {
    if (node.level === "Port" && isPlain(node) && node.parents.every((parent) => topology.below(parent).length === 1)) found.add(node.key);
  }
  return found;
}
