// The page's connection to the bridge, and what people are told of it.

import { login, topology } from "./api.js";
import { byId, fill, h } from "./dom.js";
import { follow } from "./stream.js";

const AGAIN = 1_000; // ms between two tries to load
const DRAWING = 500; // ms between two looks at what the bridge has drawn so far

/**
 * `on`: `load()` asks for everything and shows it, tells whether the bridge had all of it, and may raise ApiError;
 * `change(event)`; `since()` tells the revision that is shown.
 */
export class Connection {
  #on;
  #loading;
  #again = false;
  #loaded = false;
  #pause;
  #whole = false; // whether what was loaded is everything, not what the bridge had drawn so far
  #lost = false;
  #waiting = []; // changes that came while everything was being loaded
  #state = { ready: true, reasons: {} };
  #stop;
  #locked = false; // the bridge wants a token that this page does not have

  constructor(on) {
    this.#on = on;
    byId("login-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#login(byId("login-token").value);
    });
  }

  async start() {
    this.#say("wait", "connecting …");
    this.#locked = false;
    await this.#load();
    if (this.#locked) return;
    this.#stop?.();
    this.#stop = follow({
      connected: () => this.#connected(),
      lost: () => this.#gone(),
      state: (state) => {
        this.#state = state;
        this.#tell();
        if (state.whole && !this.#whole) this.#load();
      },
      topology: (event) => this.#changed(event),
    }, this.#on.since);
  }

  #connected() {
    if (this.#lost) {
      this.#announce("Connected again: the picture is current.");
      if (!this.#loaded) this.#load();
    }
    this.#lost = false;
    this.#tell();
  }

  #gone() {
    if (!this.#lost) this.#announce("The connection to the bridge is lost. The picture shows the last known state; the page reconnects every second.");
    this.#lost = true;
    this.#tell();
    this.#probe();
  }

  /** A stream does not say why it ends: another token may be wanted by now. */
  async #probe() {
    try {
      await topology({ limit: 1 });
    } catch (error) {
      if (error.status === 401 && !this.#locked) this.#wantToken();
    }
  }

  #changed(event) {
    if (event.reload) this.#load();
    else if (this.#loading) this.#waiting.push(event);
    else if (this.#loaded && !this.#whole) this.#later(); // pieces of what the bridge still draws tell too little
    else if (this.#loaded) this.#on.change(event);
  }

  #later() {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#load();
    }, DRAWING);
  }

  async #load() {
    if (this.#loading) {
      this.#again = true;
      return;
    }
    this.#loading = true;
    this.#waiting = [];
    this.#again = false;
    try {
      this.#whole = await this.#on.load();
      this.#loaded = true;
      this.#problem("");
      // What was told meanwhile is at least as new as what was loaded: nodes come whole, so that twice does no harm.
      if (this.#whole) for (const event of this.#waiting) this.#on.change(event);
      else if (this.#waiting.length) this.#later();
    } catch (error) {
      if (error.status === undefined) throw error;
      if (error.status === 401) this.#wantToken();
      else this.#retry(error);
    } finally {
      this.#loading = false;
    }
    if (this.#again) this.#load();
  }

  #retry(error) {
    this.#problem(error.message);
    setTimeout(() => this.#load(), AGAIN);
  }

  #wantToken() {
    this.#locked = true;
    this.#stop?.();
    this.#say("bad", "token needed");
    byId("login").showModal();
  }

  async #login(token) {
    try {
      await login(token);
    } catch (error) {
      byId("login-error").textContent = error.message;
      return;
    }
    byId("login").close();
    byId("login-token").value = "";
    byId("login-error").textContent = "";
    this.start();
  }

  #tell() {
    if (this.#lost) this.#say("bad", "reconnecting …");
    else if (!this.#state.ready) this.#say("wait", "not ready");
    else if (this.#state.whole === false) this.#say("wait", "drawing …");
    else this.#say("good", "live");
    const reasons = Object.entries(this.#state.reasons ?? {});
    const told = this.#lost
      ? [h("p", {}, "The connection to the bridge is lost. The picture shows the last known state; the page reconnects every second.")]
      : reasons.map(([name, why]) => h("p", {}, h("strong", {}, name), `: ${why}`));
    fill(byId("banner-state"), told);
    this.#banner();
  }

  #problem(message) {
    fill(byId("banner-problem"), message && h("p", {}, message));
    this.#banner();
  }

  #banner() {
    byId("banner").hidden = !byId("banner-state").hasChildNodes() && !byId("banner-problem").hasChildNodes();
  }

  #say(tone, word) {
    const element = byId("state");
    element.className = `state ${tone}`;
    fill(element, h("span", { class: "dot", "aria-hidden": "true" }), word);
  }

  #announce(text) {
    byId("announcement").textContent = text;
  }
}
