// The topology of a bridge: its top first, which is there sooner, then all of it.

import { topology as ask } from "./api.js";

const TOP = 400; // nodes of the first picture

export class Store {
  #topology;
  #wire;
  #refreshed;
  #revision = ""; // of the latest answer
  #isDrawn = false; // whether the bridge had all of it when the top was loaded

  /** `refreshed()` is called when the topology has changed. */
  constructor(topology, wire, refreshed) {
    this.#topology = topology;
    this.#wire = wire;
    this.#refreshed = refreshed;
  }

  /**
   * Load again. Returns {whole: whether the bridge had all of it, hasTop: whether it had at least the first picture, again:
   * whether another load has more}. Raises ApiError.
   */
  async load() {
    const had = this.#topology.nodes.size;
    const all = this.#isDrawn || had >= TOP;
    const document = await ask(all ? undefined : TOP);
    this.#isDrawn = document.whole;
    const loaded = Object.keys(document.nodes).length;
    const hasTop = document.whole || loaded >= TOP;
    const again = document.whole ? !all && document.total > loaded : !hasTop && document.revision !== this.#revision;
    this.#revision = document.revision;
    // Nothing is drawn again for less than what is there already, which can be all that a restarted bridge had.
    if (document.whole || had === 0 || loaded > had) {
      this.#topology.load(this.#wire.load(document));
      this.#refreshed();
    }
    return { whole: document.whole, hasTop, again };
  }

  change(event) {
    const { upsert, gone } = this.#wire.change(event);
    this.#topology.apply(upsert, gone);
    if (["nodes", "gone", "policies", "gonePolicies"].some((part) => Object.keys(event[part]).length > 0)) this.#refreshed();
  }
}
