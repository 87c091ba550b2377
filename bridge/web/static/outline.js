// The same picture as a tree of rows, for the keyboard and for screen readers (WAI-ARIA's tree pattern).

import { fill, h } from "./dom.js";
import { isFound, isFoundPolicy } from "./finding.js";
import { place, short } from "./keys.js";
import { chip } from "./links.js";
import { outcomeOf } from "./outcomes.js";
import { naming, pills } from "./visible.js";

const MOST = 1500; // rows; beyond, branches must be closed to see others

/** `on`: `choose(key)`, `toggle(id, open)`. */
export class Outline {
  #element;
  #on;
  #rows = [];
  #at = 0;
  #chosen; // the key to which it has scrolled

  constructor(element, on) {
    this.#element = element;
    this.#on = on;
    element.addEventListener("keydown", (event) => this.#pressed(event));
    element.addEventListener("click", (event) => this.#clicked(event));
    element.addEventListener("focusin", (event) => {
      const at = this.#rows.findIndex(({ row }) => row === event.target);
      if (at >= 0) this.#rove(at);
    });
  }

  draw(topology, filtered, shown, { chosen, changed, words, violations }) {
    const had = this.#rows[this.#at]?.path;
    const focused = this.#element.contains(document.activeElement);
    const { scrollTop } = this.#element.parentElement;
    if (this.#isInSight()) this.#chosen = undefined; // rows before it may be new
    const rows = [];
    const seen = new Set();
    const walk = (id, level, before) => {
      if (rows.length >= MOST) return;
      const entry = shown.nodes.get(id);
      const path = `${before}\n${id}`;
      const again = seen.has(id);
      const children = shown.children.get(id) ?? [];
      rows.push({ ...nodeRow(topology, entry, { level, again, expanded: children.length > 0, chosen, changed, words, violation: violations.mark(entry.key) }), path, id, key: entry.key, level, opens: entry.inside > 0 && !again, open: entry.open && !again, group: entry.group });
      if (again) return;
      seen.add(id);
      for (const pill of pills(filtered, entry, 50)) {
        if (pill.attached) rows.push({ ...policyRow(pill.attached, { level: level + 1, chosen, changed, words, violation: violations.mark(pill.attached.policy) }), path: `${path}\n${pill.id}`, key: pill.attached.policy, level: level + 1 });
      }
      for (const child of children) walk(child, level + 1, path); // of a closed node those of the choice and its path
    };
    for (const id of shown.roots) walk(id, 1, "");
    this.#rows = rows;
    fill(this.#element, rows.map(({ row }) => row), rows.length >= MOST && h("p", { class: "quiet" }, "More rows are hidden: filter, or close branches."));
    if (!rows.length) fill(this.#element, h("p", { class: "quiet" }, "No objects."));
    this.#at = Math.max(0, rows.findIndex(({ path }) => path === had));
    if (rows.length) rows[this.#at].row.tabIndex = 0;
    this.#element.parentElement.scrollTop = scrollTop;
    this.#scrollTo(chosen);
    if (focused && rows.length) rows[this.#at].row.focus({ preventScroll: true });
  }

  /** Once for each choice, as soon as it has a row, and while the user has not scrolled away from it. */
  #scrollTo(chosen) {
    if (chosen === this.#chosen) return;
    if (!this.#element.checkVisibility()) return; // it is drawn again when it is opened
    const found = this.#rowOf(chosen);
    found?.scrollIntoView({ block: "nearest" });
    if (found || !chosen) this.#chosen = chosen;
  }

  #isInSight() {
    const row = this.#rowOf(this.#chosen)?.getBoundingClientRect();
    const { top, bottom } = this.#element.parentElement.getBoundingClientRect();
    return row !== undefined && row.bottom > top && row.top < bottom;
  }

  #rowOf(key) {
    return key && this.#rows.find((one) => one.key === key)?.row;
  }

  #clicked(event) {
    const row = event.target.closest("[role=treeitem]");
    const found = this.#rows.find((one) => one.row === row);
    if (!found) return;
    this.#rove(this.#rows.indexOf(found));
    if (event.target.closest(".twist") || found.group) this.#toggle(found, !found.open);
    else this.#on.choose(found.key);
  }

  #pressed(event) {
    const found = this.#rows[this.#at];
    if (!found || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowDown: this.#at + 1, ArrowUp: this.#at - 1, Home: 0, End: this.#rows.length - 1 };
    if (event.key in moves) this.#go(moves[event.key]);
    else if (event.key === "ArrowRight") this.#right(found);
    else if (event.key === "ArrowLeft") this.#left(found);
    else if (event.key === "Enter" || event.key === " ") {
      if (found.group) this.#toggle(found, !found.open);
      else this.#on.choose(found.key);
    } else return;
    event.preventDefault();
  }

  #right(found) {
    if (found.opens && !found.open) this.#toggle(found, true);
    else if (this.#rows[this.#at + 1]?.level > found.level) this.#go(this.#at + 1);
  }

  #left(found) {
    if (found.opens && found.open) return this.#toggle(found, false);
    for (let at = this.#at - 1; at >= 0; at -= 1) if (this.#rows[at].level < found.level) return this.#go(at);
    return undefined;
  }

  #toggle(found, open) {
    if (found.opens) this.#on.toggle(found.id, open);
  }

  #go(at) {
    if (at < 0 || at >= this.#rows.length) return;
    this.#rove(at);
    this.#rows[at].row.focus();
  }

  #rove(at) {
    if (this.#rows[this.#at]) this.#rows[this.#at].row.tabIndex = -1;
    this.#at = at;
    this.#rows[at].row.tabIndex = 0;
  }
}

function nodeRow(topology, entry, { level, again, expanded, chosen, changed, words, violation }) {
  const { caption, name } = naming(topology, entry);
  const opens = entry.inside > 0 && !again;
  const isMatch = words.length > 0 && entry.key !== undefined && isFound(topology.nodes.get(entry.key), words);
  const row = h(
    "div",
    {
      role: "treeitem", class: isMatch ? "row found" : "row", tabindex: -1, "aria-level": level, "aria-selected": String(entry.key !== undefined && entry.key === chosen),
      "aria-expanded": opens ? String(expanded) : undefined, title: entry.key ? short(entry.key) : `${caption}: ${name}`,
      "aria-label": `${caption}, ${name}${again ? ", see above" : ""}${changed.has(entry.key) ? ", would change" : ""}${violation ? `, ${violation.words}` : ""}`,
    },
    h("span", { class: "twist", "aria-hidden": "true" }, opens ? (entry.open ? "▾" : "▸") : ""),
    h("span", { class: "name" }, name),
    violationMark(violation),
    h("span", { class: "caption" }, again ? "see above" : caption.replaceAll("· ", "·\u00a0")),
    changed.has(entry.key) && h("span", { class: "mark", "aria-hidden": "true" }, changed.get(entry.key)),
  );
  row.style.setProperty("--level", level);
  return { row };
}

function violationMark(violation) {
  return violation && h("span", { class: `violation ${violation.tone}`, "aria-hidden": "true", title: violation.words }, violation.sign);
}

function policyRow(attached, { level, chosen, changed, words, violation }) {
  const { sign, word, tone } = outcomeOf(attached);
  const row = h(
    "div",
    {
      role: "treeitem", class: `row attached ${tone}${words.length > 0 && isFoundPolicy(attached, words) ? " found" : ""}`, tabindex: -1, "aria-level": level, "aria-selected": String(attached.policy === chosen),
      "aria-label": `Policy ${short(attached.policy)}, ${word}${changed.has(attached.policy) ? ", would change" : ""}${violation ? `, ${violation.words}` : ""}`,
      title: `${short(attached.policy)}: ${word}`,
    },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    chip(attached.policyKind),
    h("span", { class: "name" }, place(attached.policy)),
    violationMark(violation),
    h("span", { class: "caption" }, word),
  );
  row.style.setProperty("--level", level);
  return { row };
}
