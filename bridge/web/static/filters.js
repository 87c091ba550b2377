// The filters beside the picture. They are also the legend: colors of policy kinds, signs of outcomes.

import { colorOf, monogramOf } from "./colors.js";
import { byId, fill, h, paint } from "./dom.js";
import { byName, kindName } from "./keys.js";
import { LEGEND } from "./outcomes.js";

const NAMESPACES = 60; // listed at once; the others are found by typing

/** `changed()` is called when the filters have changed. */
export class Filters {
  #filters;
  #changed;
  #facets = "";
  #narrowed = "";

  constructor(filters, changed) {
    this.#filters = filters;
    this.#changed = changed;
    const text = byId("filter-text");
    text.value = filters.text;
    text.addEventListener("input", () => {
      filters.text = text.value;
      changed();
    });
    const attached = byId("filter-attached");
    attached.checked = filters.attachedOnly;
    attached.addEventListener("change", () => {
      filters.attachedOnly = attached.checked;
      changed();
    });
    byId("filter-clear").addEventListener("click", () => {
      filters.namespaces.clear();
      filters.hiddenKinds.clear();
      filters.hiddenPolicyKinds.clear();
      filters.attachedOnly = false;
      filters.text = "";
      this.refresh();
      changed();
    });
    fill(byId("legend"), LEGEND.map(({ sign, word, tone }) => h("li", { class: tone }, h("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${word}`)));
  }

  /** Show filters that were set elsewhere (by a link). */
  refresh() {
    byId("filter-text").value = this.#filters.text;
    byId("filter-attached").checked = this.#filters.attachedOnly;
    this.#facets = "";
  }

  /** `wire` has the facets of nodes that were not loaded. */
  draw(topology, wire) {
    const facets = topology.facets(wire.facets);
    if (!wire.isWhole) for (const counts of Object.values(facets)) for (const name of counts.keys()) counts.set(name, undefined);
    const now = JSON.stringify([[...facets.kinds], [...facets.namespaces], [...facets.policyKinds], [...facets.undescribed], this.#narrowed]);
    if (now === this.#facets) return;
    this.#facets = now;
    const { namespaces, hiddenKinds, hiddenPolicyKinds } = this.#filters;
    const kinds = [...facets.kinds].sort(([one], [other]) => byName(one, other));
    fill(byId("filter-kinds"), kinds.map(([kind, count]) => box(kind, count, !hiddenKinds.has(kind), (on) => this.#set(hiddenKinds, kind, !on))));
    const boxes = (types) => [...types].sort(([one], [other]) => byName(kindName(one), kindName(other))).map(([type, count]) =>
      box(kindName(type), count, !hiddenPolicyKinds.has(type), (on) => this.#set(hiddenPolicyKinds, type, !on), type));
    fill(byId("filter-policy-kinds"), boxes(facets.policyKinds));
    byId("undescribed").hidden = facets.undescribed.size === 0;
    fill(byId("filter-undescribed"), boxes(facets.undescribed));
    this.#namespaces([...facets.namespaces].sort(([one], [other]) => byName(one, other)), namespaces);
  }

  #namespaces(all, chosen) {
    const narrowed = all.filter(([name]) => chosen.has(name) || name.includes(this.#narrowed));
    const shown = narrowed.slice(0, NAMESPACES);
    const element = byId("filter-namespaces");
    const boxes = shown.map(([name, count]) => box(name, count, chosen.has(name), (on) => this.#set(chosen, name, on)));
    if (all.length <= NAMESPACES) return void fill(element, boxes);
    const narrow = byId("narrow-namespaces") ?? h("input", {
      id: "narrow-namespaces", type: "search", placeholder: "Find a namespace", "aria-label": "Find a namespace",
      on: { input: (event) => { this.#narrowed = event.target.value; this.#changed(); } },
    });
    const focused = document.activeElement === narrow;
    fill(element, narrow, boxes, narrowed.length > shown.length && h("p", { class: "quiet" }, `and ${narrowed.length - shown.length} more`));
    if (focused) narrow.focus();
  }

  #set(names, name, on) {
    if (on) names.add(name);
    else names.delete(name);
    this.#changed();
  }
}

function box(name, count, checked, changed, type = undefined) {
  const input = h("input", { type: "checkbox", on: { change: (event) => changed(event.target.checked) } });
  input.checked = checked;
  const mark = type && paint(h("span", { class: "chip", "aria-hidden": "true" }, monogramOf(type)), "--kind", colorOf(type));
  return h("label", { class: "choice", title: type ?? name }, input, mark, h("span", { class: "name" }, name), h("span", { class: "count" }, count?.toLocaleString("en")));
}
