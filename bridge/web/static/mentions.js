// The policies with fields or values that a search finds: the bridge has the specs.

import { query } from "./api.js";
import { wordsOf } from "./finding.js";

const TYPING = 200; // ms after the last key

export class Mentions {
  /** @type {Map<string, {field: string, value: any}[]>} */
  found = new Map();
  isPending = false; // the bridge has not answered yet
  #text = "";
  #changed;
  #timer;

  /** `changed()` is called when the answer is new. */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Search for a text, `again` because objects have changed. A text that is replaced soon is not searched for. */
  ask(text, again = false) {
    const words = wordsOf(text);
    const now = words.join(" ");
    if (now === this.#text && !again) return;
    if (now !== this.#text) {
      this.found = new Map();
      this.isPending = now !== "";
    }
    this.#text = now;
    clearTimeout(this.#timer);
    if (!now) return;
    this.#timer = setTimeout(async () => {
      const answer = await search(words);
      if (now !== this.#text) return;
      this.isPending = false;
      this.found = new Map(answer.map(({ policy, fields }) => [policy, fields]));
      this.#changed();
    }, TYPING);
  }
}

async function search(words) {
  try {
    return await query("search", { words });
  } catch (error) {
    if (error.status === undefined) throw error;
    return []; // names are found all the same, and the connection shows why others are not
  }
}
