// What the bridge tells over HTTP, turned into what the page works with.

/** Nodes and policies as the bridge tells them, and changes of them taken in. */
export class Wire {
  #nodes = new Map();
  #policies = new Map();
  #users = new Map(); // policy -> Set of the nodes that tell of it
  revision = "";
  total = 0; // nodes that there are
  facets = { namespaces: [], kinds: [], policyKinds: [], undescribed: [] }; // of all nodes
  isWhole = false; // whether every node that there is has been told

  /** A whole topology document: a list of nodes. */
  load(document) {
    this.revision = document.revision;
    this.total = document.total;
    this.facets = document.facets;
    this.isWhole = document.whole && document.total <= Object.keys(document.nodes).length;
    this.#nodes = new Map(Object.entries(document.nodes));
    this.#policies = new Map(Object.entries(document.policies));
    this.#users.clear();
    for (const [key, node] of this.#nodes) this.#use(key, node);
    return [...this.#nodes.keys()].map((key) => this.#read(key));
  }

  /** An event of the stream: {upsert: nodes, gone: keys}; nodes whose policies became something else are among them. */
  change({ revision, total, nodes = {}, gone = [], policies = {}, gonePolicies = [] }) {
    this.revision = revision;
    this.total = total;
    const known = this.isWhole ? nodes : Object.fromEntries(Object.entries(nodes).filter(([key, node]) => this.#belongs(key, node)));
    return this.#take(known, gone, policies, gonePolicies);
  }

  /** Further nodes, that were asked for: {upsert, gone}. */
  more({ nodes, policies }) {
    return this.#take(nodes, [], policies, []);
  }

  #take(nodes, gone, policies, gonePolicies) {
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
    for (const { parents } of Object.values(nodes)) {
      for (const parent of parents) if (this.#nodes.has(parent)) this.#nodes.get(parent).isOpen = true;
    }
    return { upsert: [...touched].map((key) => this.#read(key)), gone };
  }

  /** Of a part that is not told, nothing is taken in piece by piece: it would look as if that were all. */
  #belongs(key, { parents }) {
    return this.#nodes.has(key) || parents.some((parent) => this.#nodes.get(parent)?.isOpen);
  }

  /** The number of policies that were told of. */
  get policies() {
    return this.#policies.size;
  }

  isPolicy(key) {
    return this.#policies.has(key);
  }

  /** Policies that want a look: [{policy, outcome, reason, message}], those whose controllers contradict the bridge first. */
  troubled() {
    const differing = [];
    const refused = [];
    const overridden = [];
    for (const [policy, { outcomes, conditions, differences }] of this.#policies) {
      if (differences.length) differing.push({ policy, outcome: "Differs", reason: "reported otherwise", message: differences.join("; ") });
      const not = conditions.find(({ type, status }) => type === "Accepted" && status === "False");
      if (not) refused.push({ policy, outcome: "Refused", reason: not.reason, message: not.message });
      else if (overall(outcomes) === "Overridden") overridden.push({ policy, outcome: "Overridden" });
    }
    return [...differing, ...refused, ...overridden];
  }

  #read(key) {
    const { level, parents, leadsTo, parameters, policies, refused, children } = this.#nodes.get(key);
    return {
      key,
      count: children, // below it, told or not
      level,
      parents,
      leadsTo,
      parameters,
      refused,
      policies: policies.map((attached) => ({ ...attached, outcome: overall(this.#policies.get(attached.policy)?.outcomes) })),
    };
  }

  #use(key, node) {
    for (const { policy } of node.policies) {
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
