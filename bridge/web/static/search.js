// The search in the header: a list of results (WAI-ARIA's combobox), while the picture shows where they are.

import { announce, byId, fill, h } from "./dom.js";
import { find } from "./finding.js";
import { parts, place } from "./keys.js";
import { chip } from "./links.js";

const LISTED = 12;

/** `on`: `changed(text)`, `choose(key)` of a result that is taken, `only(namespace)`. */
export class Search {
  #on;
  #input = byId("search-text");
  #list = byId("search-found");
  #found = [];
  #at = -1; // the marked result
  #isOpen = false;
  #announced = ""; // the text whose number of results was announced

  constructor(on) {
    this.#on = on;
    this.#input.addEventListener("input", () => {
      this.#isOpen = true;
      on.changed(this.#input.value);
    });
    this.#input.addEventListener("focus", () => this.#show(true));
    this.#input.addEventListener("blur", () => this.#show(false));
    this.#input.addEventListener("keydown", (event) => this.#pressed(event));
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#take(this.#found[Math.max(0, this.#at)]);
    });
    // Before the click takes the focus from the input.
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.#take(this.#found[[...this.#list.children].indexOf(row)]);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      this.#input.focus();
      this.#input.select();
    });
  }

  draw(text, topology, wire, mentions, constraints) {
    if (this.#input.value !== text) this.#input.value = text;
    const all = find(text, topology, wire, mentions.found, constraints);
    this.#found = all.slice(0, LISTED);
    const more = all.length - this.#found.length;
    fill(this.#list, this.#found.map((one, at) => option(one, at, !topology.has(one.key) && !constraints.includes(one.key))),
      !all.length && h("li", { class: "quiet", role: "presentation" },
        mentions.isPending ? "Searching fields and values …" : "Nothing has these words in its name, namespace, hostnames, reasons, fields or values."),
      more > 0 && h("li", { class: "quiet", role: "presentation" }, `${more.toLocaleString("en")} more are marked`));
    this.#show(this.#isOpen);
    if (this.#list.hidden || mentions.isPending || this.#announced === text) return;
    this.#announced = text;
    announce(all.length ? `${all.length.toLocaleString("en")} ${all.length === 1 ? "result" : "results"}${more > 0 ? `, ${LISTED} listed` : ""}.` : "No results.");
  }

  #show(open) {
    this.#isOpen = open;
    const isShown = open && this.#input.value.trim() !== "";
    this.#list.hidden = !isShown;
    this.#input.setAttribute("aria-expanded", String(isShown));
    this.#mark(-1);
  }

  #pressed(event) {
    const last = this.#found.length - 1;
    if (event.key === "ArrowDown") this.#mark(this.#at < last ? this.#at + 1 : 0);
    else if (event.key === "ArrowUp") this.#mark(this.#at > 0 ? this.#at - 1 : last);
    else if (event.key !== "Escape") return;
    else if (this.#list.hidden) this.#on.changed("");
    else this.#show(false);
    event.preventDefault();
  }

  #mark(at) {
    this.#at = at;
    [...this.#list.querySelectorAll("[role=option]")].forEach((row, each) => row.setAttribute("aria-selected", String(each === at)));
    if (at < 0) this.#input.removeAttribute("aria-activedescendant");
    else this.#input.setAttribute("aria-activedescendant", `found-${at}`);
  }

  #take(found) {
    if (!found) return;
    this.#show(false);
    if (found.namespace !== undefined) this.#on.only(found.namespace);
    else this.#on.choose(found.key);
  }
}

function option({ key, namespace, note }, at, isPolicy) {
  const row = (label, ...content) => h("li", { role: "option", id: `found-${at}`, "aria-label": label, "aria-selected": "false" }, content);
  if (namespace !== undefined) return row(`${namespace}, Namespace: show only it`, h("span", { class: "name" }, namespace), h("span", { class: "caption" }, "Namespace: show only it"));
  const { kind, type } = parts(key);
  return row([place(key), kind, note].filter(Boolean).join(", "), isPolicy && chip(type), h("span", { class: "name" }, place(key)), h("span", { class: "caption" }, kind, note && ` · ${note}`));
}

const isTyping = (element) => element instanceof Element && element.closest("input, textarea, select, dialog") !== null;
