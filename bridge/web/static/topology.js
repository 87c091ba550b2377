// The loaded topology: nodes by key, the links between them, and the policies attached to each.

import { byName, forget, NOTHING, parts } from "./keys.js";

/**
 * A policy at a node; `outcome` is one word for all its paths, `differs` whether its controller reports otherwise,
 * `reasons` are those of its conditions.
 *
 * @typedef {{policy: string, policyKind: string, accepted?: boolean, reason?: string, outcome?: string, differs: boolean,
 *   reasons: string[]}} Attached
 *
 * A node; `count` is the number of nodes below it, loaded or not.
 *
 * @typedef {{key: string, level: string, parents: string[], leadsTo: string[], parameters?: string, hostnames: string[], created: string,
 *   count: number, policies: Attached[], refused: {parent: string, child: string, reason: string}[]}} Node
 */

export class Topology {
  /** @type {Map<string, Node>} */
  nodes = new Map();
  /** @type {Map<string, Set<string>>} */
  children = new Map();
  /** @type {Map<string, Set<string>>} */
  parents = new Map();
  /** @type {Map<string, Set<string>>} */
  targets = new Map(); // policy -> keys of the nodes that it is attached to

  /**
   * Replace everything.
   *
   * @param {Node[]} nodes
   */
  load(nodes) {
    forget();
    for (const map of [this.nodes, this.children, this.parents, this.targets]) map.clear();
    for (const node of nodes) this.#put(node);
  }

  /**
   * Apply changed and deleted nodes.
   *
   * @param {Node[]} upsert
   * @param {string[]} deleted
   */
  apply(upsert, deleted) {
    for (const key of deleted) this.#drop(key);
    for (const node of upsert) {
      this.#drop(node.key);
      this.#put(node);
    }
  }

  /** @param {Node} node */
  #put(node) {
    this.nodes.set(node.key, node);
    for (const [from, to] of declared(node)) {
      link(this.children, from, to);
      link(this.parents, to, from);
    }
    for (const { policy } of node.policies) link(this.targets, policy, node.key);
  }

  /** @param {string} key */
  #drop(key) {
    const node = this.nodes.get(key);
    if (!node) return;
    for (const [from, to] of declared(node)) {
      unlink(this.children, from, to);
      unlink(this.parents, to, from);
    }
    for (const { policy } of node.policies) {
      unlink(this.targets, policy, key);
      if (!this.targets.has(policy)) forget(policy);
    }
    forget(key);
    this.nodes.delete(key);
  }

  /** The number of nodes, without the page's own. */
  get size() {
    return [...this.nodes.values()].filter(({ level }) => level !== NOTHING).length;
  }

  has(key) {
    return this.nodes.has(key);
  }

  /** Whether not all nodes below a node were loaded. */
  isCut(key) {
    return (this.nodes.get(key)?.count ?? 0) > this.below(key).length;
  }

  /** Nodes without a node above them. */
  roots() {
    return [...this.nodes.keys()].filter((key) => this.above(key).length === 0).sort(byName);
  }

  below(key) {
    return [...(this.children.get(key) ?? [])].filter((child) => this.nodes.has(child));
  }

  above(key) {
    return [...(this.parents.get(key) ?? [])].filter((parent) => this.nodes.has(parent));
  }

  ancestors(keys) {
    return reach(keys, (key) => this.above(key));
  }

  descendants(keys) {
    return reach(keys, (key) => this.below(key));
  }

  /** Nodes that a policy is attached to. */
  attachedTo(policy) {
    return this.shownAt(policy).filter((key) => this.nodes.get(key)?.level !== NOTHING);
  }

  /** Nodes at which the picture shows a policy: also the one for policies that are attached to nothing. */
  shownAt(policy) {
    return [...(this.targets.get(policy) ?? [])];
  }

  /** A policy as one of the nodes has it that it is attached to. */
  policy(key) {
    for (const target of this.targets.get(key) ?? []) {
      const found = this.nodes.get(target)?.policies.find((attached) => attached.policy === key);
      if (found) return found;
    }
    return undefined;
  }

  /** Objects (without their sections), of one level if that is given. */
  objects(level) {
    return [...this.nodes.values()]
      .filter((node) => (!level || node.level === level) && !parts(node.key).section)
      .map((node) => node.key)
      .sort(byName);
  }

  /** Routes among keys and the nodes above and below them. */
  routesAround(keys) {
    const found = new Set();
    for (const reached of [this.ancestors(keys), this.descendants(keys), keys]) {
      for (const key of reached) if (this.nodes.get(key)?.level === "Route") found.add(key);
    }
    return [...found].sort(byName);
  }

  /** Numbers for filters by name: {kinds, namespaces, policyKinds, undescribed (policy kinds that none describes), outcomes}. */
  facets() {
    const found = { kinds: new Map(), namespaces: new Map(), policyKinds: new Map(), undescribed: new Map(), outcomes: new Map() };
    const count = (map, name, more = 1) => map.set(name, (map.get(name) ?? 0) + more);
    for (const node of this.nodes.values()) {
      const { namespace, section } = parts(node.key);
      if (node.level !== NOTHING) {
        count(found.kinds, shownKind(node));
        if (namespace && !section) count(found.namespaces, namespace);
      }
      // One node has all policies of a namespace that are attached to nothing: they count each, as the rows of the list.
      const counted = node.level === NOTHING ? node.policies.map((policy) => ({ policies: [policy], refused: [] })) : [node];
      for (const outcome of counted.flatMap((one) => [...outcomesAt(one)])) count(found.outcomes, outcome);
    }
    for (const key of this.targets.keys()) {
      const { type, namespace } = parts(key);
      const isUndescribed = this.policy(key)?.reason === "NotDescribed";
      count(isUndescribed ? found.undescribed : found.policyKinds, type);
      if (namespace) count(found.namespaces, namespace, 0);
    }
    for (const type of found.undescribed.keys()) found.policyKinds.delete(type);
    return found;
  }
}

/** The outcomes of the policies at a node, and of the links that it declares, once each. */
export function outcomesAt({ policies, refused }) {
  const found = new Set(policies.map(({ accepted, outcome }) => (accepted === false ? "Refused" : outcome)));
  if (policies.some(({ differs }) => differs)) found.add("Differs");
  if (refused.length) found.add("Refused");
  return found;
}

/** The kind of a node in filters: of a section its level. */
export function shownKind(node) {
  const { kind, section } = parts(node.key);
  return section ? node.level : kind;
}

/** The edges that a node declares: from its parents, and to the nodes that it leads to. */
function declared({ key, parents, leadsTo }) {
  return [...parents.map((parent) => [parent, key]), ...leadsTo.map((child) => [key, child])];
}

/** @param {Map<string, Set<string>>} map @param {string} key @param {string} other */
function link(map, key, other) {
  const found = map.get(key);
  if (found) found.add(other);
  else map.set(key, new Set([other]));
}

/** @param {Map<string, Set<string>>} map @param {string} key @param {string} other */
function unlink(map, key, other) {
  const found = map.get(key);
  if (!found) return;
  found.delete(other);
  if (!found.size) map.delete(key);
}

function reach(keys, next) {
  const found = new Set();
  const waiting = [...keys];
  while (waiting.length) {
    for (const key of next(waiting.pop())) {
      if (!found.has(key)) {
        found.add(key);
        waiting.push(key);
      }
    }
  }
  return found;
}
