// What there is: nodes by key with what is above and below them, and the policies attached to each.

import { byName, parts } from "./keys.js";


export class Topology {
  constructor() {
    this.clear();
  }

  clear() {
    this.nodes = new Map(); // key -> {key, level, parents, leadsTo, parameters, count, policies, refused}
    this.children = new Map(); // key -> Set of keys
    this.parents = new Map(); // the other way
    this.targets = new Map(); // policy -> Set of keys of nodes
  }

  /** Take everything anew. `nodes`: a list of nodes. */
  load(nodes) {
    this.clear();
    for (const node of nodes) this.#put(node);
  }

  /** Take changed nodes, and let others go. */
  apply(upsert, deleted) {
    for (const key of deleted) this.#drop(key);
    for (const node of upsert) {
      this.#drop(node.key);
      this.#put(node);
    }
  }

  #put(node) {
    this.nodes.set(node.key, node);
    for (const [from, to] of declared(node)) {
      link(this.children, from, to);
      link(this.parents, to, from);
    }
    for (const { policy } of node.policies) link(this.targets, policy, node.key);
  }

  #drop(key) {
    const node = this.nodes.get(key);
    if (!node) return;
    for (const [from, to] of declared(node)) {
      unlink(this.children, from, to);
      unlink(this.parents, to, from);
    }
    for (const { policy } of node.policies) unlink(this.targets, policy, key);
    this.nodes.delete(key);
  }

  has(key) {
    return this.nodes.has(key);
  }

  /** Whether more stands below a node than has been told. */
  isCut(key) {
    return (this.nodes.get(key)?.count ?? 0) > this.below(key).length;
  }

  /** Nodes that nothing stands above. */
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
    return [...(this.targets.get(policy) ?? [])];
  }

  /** A policy as a node tells it, wherever it is attached. */
  policy(key) {
    for (const target of this.targets.get(key) ?? []) {
      const found = this.nodes.get(target)?.policies.find((attached) => attached.policy === key);
      if (found) return found;
    }
    return undefined;
  }

  /** Objects (without their sections), of one level where that is given. */
  objects(level) {
    return [...this.nodes.values()]
      .filter((node) => (!level || node.level === level) && !parts(node.key).section)
      .map((node) => node.key)
      .sort(byName);
  }

  /** Routes among keys and what stands above and below them. */
  routesAround(keys) {
    const found = new Set();
    for (const reached of [this.ancestors(keys), this.descendants(keys), keys]) {
      for (const key of reached) if (this.nodes.get(key)?.level === "Route") found.add(key);
    }
    return [...found].sort(byName);
  }

  /**
   * Numbers for filters by name: {kinds, namespaces, policyKinds, undescribed}; the latter two have all kinds of policies
   * between them. `known`: names that may be missing among the nodes.
   */
  facets(known) {
    const kinds = new Map();
    const namespaces = new Map(known.namespaces.map((name) => [name, 0]));
    const undescribed = new Map(known.undescribed.map((name) => [name, 0]));
    const policyKinds = new Map(known.policyKinds.filter((name) => !undescribed.has(name)).map((name) => [name, 0]));
    for (const node of this.nodes.values()) {
      const { kind, namespace, section } = parts(node.key);
      const named = section ? node.level : kind;
      kinds.set(named, (kinds.get(named) ?? 0) + 1);
      if (namespace && !section) namespaces.set(namespace, (namespaces.get(namespace) ?? 0) + 1);
    }
    for (const policy of this.targets.keys()) {
      const { type, namespace } = parts(policy);
      const kindsOfIt = this.policy(policy).reason === "NotDescribed" ? undescribed : policyKinds;
      kindsOfIt.set(type, (kindsOfIt.get(type) ?? 0) + 1);
      if (namespace && !namespaces.has(namespace)) namespaces.set(namespace, 0);
    }
    for (const type of undescribed.keys()) policyKinds.delete(type);
    return { kinds, namespaces, policyKinds, undescribed };
  }
}

/** What filters call the kind of a node: sections go by their level. */
export function shownKind(node) {
  const { kind, section } = parts(node.key);
  return section ? node.level : kind;
}

/** The edges that stand with a node: from what is above it, and to what it leads to. */
function declared({ key, parents, leadsTo }) {
  return [...parents.map((parent) => [parent, key]), ...leadsTo.map((child) => [key, child])];
}

function link(map, key, other) {
  const found = map.get(key);
  if (found) found.add(other);
  else map.set(key, new Set([other]));
}

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
