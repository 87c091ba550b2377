// The page's connection to the bridge, and its state for users.

import { login, onUnauthorized, topology } from "./api.js";
import { announce, byId, fill, h } from "./dom.js";
import { follow } from "./stream.js";

const AGAIN = 1_000; // ms between two attempts to load

/**
 * `on`: `load()` loads and shows everything, returns {whole (whether the bridge had all of it), hasTop (whether it had
 * the top at least), again (whether another load has more)}, and raises ApiError; `change(event)`; `violations()` loads those; `since()` returns the
 * revision that is shown; `has(revision)` whether that is at least as new; `state(state)` takes the bridge's state.
 */
export class Connection {
  #on;
  #loading;
  #again = false;
  #loaded = false;
  #retrying;
  #page; // the digest of the page's files when this page was opened
  #whole = false; // whether what was loaded is everything, not what the bridge had drawn so far
  #hasTop = false; // whether it is at least the top, which is drawn first
  #lost = false;
  #waiting = []; // events that arrived while everything was being loaded
  #state = { ready: true, reasons: {}, outcomes: false };
  #stop;
  #locked = false; // the bridge requires a token that this page does not have

  constructor(on) {
    this.#on = on;
    byId("login-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#login(byId("login-token").value);
    });
    byId("login").addEventListener("close", () => this.#locked && byId("login").showModal()); // Escape would leave a dead page
    byId("reload").addEventListener("click", () => location.reload());
    onUnauthorized(() => this.#wantToken());
  }

  async start() {
    this.#say("wait", "connecting …");
    await this.#load();
    if (this.#locked) return;
    this.#stop?.();
    this.#stop = follow({
      connected: () => this.#connected(),
      lost: () => this.#gone(),
      state: (state) => {
        this.#state = state;
        this.#page ??= state.page;
        this.#on.state(state);
        this.#tell();
        if (state.whole && !this.#whole && !this.#loading) this.#load();
      },
      topology: (event) => this.#changed(event),
      violations: () => this.#on.violations(),
    }, this.#on.since);
  }

  #connected() {
    if (this.#lost) {
      announce("Connected again: the picture is current.");
      if (!this.#loaded) this.#load();
    }
    this.#lost = false;
    this.#tell();
  }

  #gone() {
    if (!this.#lost) announce("The connection to the bridge is lost. The picture shows the last known state; the page reconnects every second.");
    this.#lost = true;
    this.#tell();
    this.#probe();
  }

  /** A stream does not report why it ends: a request does, if the bridge requires another token now. */
  async #probe() {
    try {
      await topology(1);
    } catch (error) {
      if (error.status === undefined) throw error;
    }
  }

  #changed(event) {
    if (this.#loading) this.#waiting.push(event);
    else if (!this.#whole && this.#hasTop) return; // the state reports when the picture is finished
    else if (!this.#whole || event.reload) this.#load();
    else this.#on.change(event);
  }

  /** The bridge answers at once when it has everything, and otherwise after a while with what it has drawn so far. */
  async #load() {
    if (this.#loading) {
      this.#again = true;
      return;
    }
    this.#loading = true;
    this.#waiting = [];
    this.#again = false;
    try {
      const { whole, hasTop, again } = await this.#on.load();
      this.#hasTop = hasTop;
      this.#whole = whole && !again;
      this.#loaded = true;
      if (this.#page !== undefined) this.#tell(); // the bridge's state is known
      this.#problem("");
      const newer = this.#waiting.filter(({ revision }) => !this.#on.has(revision));
      if (whole && !newer.some(({ reload }) => reload)) for (const event of newer) this.#on.change(event);
      else this.#again ||= newer.length > 0 && (whole || !hasTop);
      this.#again ||= again || (this.#state.whole && !whole);
    } catch (error) {
      if (error.status === undefined) throw error;
      if (error.status !== 401) this.#retry(error);
    } finally {
      this.#loading = false;
    }
    if (this.#again) this.#load();
  }

  #retry(error) {
    this.#problem(error.message);
    clearTimeout(this.#retrying);
    this.#retrying = setTimeout(() => this.#load(), AGAIN);
  }

  #wantToken() {
    if (this.#locked) return;
    this.#locked = true;
    this.#stop?.();
    this.#lost = false;
    this.#tell();
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
    this.#locked = false;
    byId("login").close();
    byId("login-token").value = "";
    byId("login-error").textContent = "";
    this.start();
  }

  #tell() {
    if (this.#lost) this.#say("bad", "reconnecting …");
    else if (!this.#state.ready) this.#say("wait", "not ready");
    else if (this.#state.whole === false || (this.#loaded && !this.#whole)) this.#say("wait", "drawing …");
    else if (!this.#state.outcomes) this.#say("wait", "computing outcomes …");
    else this.#say("good", "live");
    const reasons = Object.entries({ ...this.#state.reasons, ...this.#state.unreadable });
    const message = this.#lost
      ? [h("p", {}, "The connection to the bridge is lost. The picture shows the last known state; the page reconnects every second.")]
      : reasons.map(([name, why]) => h("p", {}, h("strong", {}, name), `: ${why}`));
    fill(byId("banner-state"), message);
    this.#banner();
  }

  #problem(message) {
    fill(byId("banner-problem"), message && h("p", {}, message));
    this.#banner();
  }

  #banner() {
    const outdated = Boolean(this.#state.page) && this.#state.page !== this.#page;
    byId("banner-outdated").hidden = !outdated;
    byId("banner").hidden = !outdated && !byId("banner-state").hasChildNodes() && !byId("banner-problem").hasChildNodes();
  }

  #say(tone, word) {
    const element = byId("state");
    element.className = `state ${tone}`;
    fill(element, h("span", { class: "dot", "aria-hidden": "true" }), word);
  }
}
