// What the bridge tells over HTTP, turned into what the page works with.

/** Nodes and policies as the bridge tells them, and changes of them taken in. */
export class Wire {
  #nodes = new Map();
  #policies = new Map();
  #users = new Map(); // policy -> Set of the nodes that tell of it

  /** A whole topology document: a list of nodes. */
  load(document) {
    this.#nodes = new Map(Object.entries(document.nodes));
    this.#policies = new Map(Object.entries(document.policies));
    this.#users.clear();
    for (const [key, node] of this.#nodes) this.#use(key, node);
    return [...this.#nodes.keys()].map((key) => this.#read(key));
  }

  /** An event of the stream: {upsert: nodes, gone: keys}; nodes whose policies became something else are among them. */
  change({ nodes = {}, gone = [], policies = {}, gonePolicies = [] }) {
    const touched = new Set(Object.keys(nodes));
    for (const [policy, told] of Object.entries(policies)) {
      this.#policies.set(policy, told);
      for (const key of this.#users.get(policy) ?? []) touched.add(key);
    }
    for (const policy of gonePolicies) this.#policies.delete(policy);
    for (const key of gone) {
      this.#unuse(key);
      this.#nodes.delete(key);
      touched.delete(key);
    }
    for (const [key, node] of Object.entries(nodes)) {
      this.#unuse(key);
      this.#nodes.set(key, node);
      this.#use(key, node);
    }
    return { upsert: [...touched].map((key) => this.#read(key)), gone };
  }

  #read(key) {
    const { level, parents = [], policies = [], problems = [] } = this.#nodes.get(key);
    return {
      key,
      level,
      parents,
      problems,
      policies: policies.map((attached) => ({ ...attached, outcome: overall(this.#policies.get(attached.policy)?.outcomes) })),
    };
  }

  #use(key, node) {
    for (const { policy } of node.policies ?? []) {
      const users = this.#users.get(policy);
      if (users) users.add(key);
      else this.#users.set(policy, new Set([key]));
    }
  }

  #unuse(key) {
    for (const { policy } of this.#nodes.get(key)?.policies ?? []) this.#users.get(policy)?.delete(key);
  }
}

/** One word for what became of a policy over all its paths. */
function overall(outcomes = []) {
  const found = new Set(outcomes);
  return found.size > 1 ? "PartiallyProgrammed" : [...found][0];
}
