// The filters of the list and the picture. They are also the legend of the signs of outcomes.

import { byId, fill, h } from "./dom.js";
import { byName, kindName } from "./keys.js";
import { isFiltered, noFilters } from "./filtering.js";
import { outcomeNamed, OUTCOMES } from "./outcomes.js";

const SEVERAL = "\n"; // the value of the option for several namespaces

/** `changed()` is called when the filters have changed. */
export class Filters {
  #filters;
  #changed;
  #drawn = "";
  #isOn = new Map(); // checkbox -> whether it is checked

  constructor(filters, changed) {
    this.#filters = filters;
    this.#changed = changed;
    byId("filter-problems").addEventListener("change", (event) => {
      filters.problems = event.target.checked;
      changed();
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault()); // Enter ends the input
    byId("filter-without").addEventListener("change", (event) => {
      filters.without = event.target.value.trim();
      changed();
    });
    byId("namespace").addEventListener("change", (event) => {
      filters.namespaces = new Set([event.target.value].filter((name) => name && name !== SEVERAL));
      changed();
    });
    byId("filter-clear").addEventListener("click", () => {
      this.clear();
      changed();
    });
  }

  /** Show everything; `changed` is not called. */
  clear() {
    Object.assign(this.#filters, noFilters());
  }

  draw(facets, { constraints }, { problem }) {
    const filters = this.#filters;
    const now = JSON.stringify([constraints, [...filters.namespaces], ...Object.values(facets).map((numbers) => [...numbers])]);
    if (now !== this.#drawn) {
      this.#drawn = now;
      this.#isOn.clear();
      fill(byId("filter-outcomes"), OUTCOMES.map((outcome) => {
        const { sign, word, tone } = outcomeNamed(outcome);
        const mark = h("span", { class: `sign ${tone}`, "aria-hidden": "true" }, sign);
        return this.#box("outcomes", outcome, facets.outcomes.get(outcome) ?? 0, { word, mark });
      }));
      byId("violated").hidden = constraints.length === 0;
      fill(byId("filter-violations"), constraints.map(({ constraint, total }) => this.#box("violations", constraint, total)));
      fill(byId("filter-policy-kinds"), this.#policyKinds(facets.policyKinds));
      byId("undescribed").hidden = facets.undescribed.size === 0;
      fill(byId("filter-undescribed"), this.#policyKinds(facets.undescribed));
      fill(byId("without-kinds"), sorted(facets.policyKinds, kindName).map(([type]) => h("option", { value: kindName(type) })));
      fill(byId("filter-kinds"), sorted(facets.kinds).map(([kind, count]) => this.#box("hiddenKinds", kind, count)));
      this.#namespaces(facets.namespaces);
    }
    for (const [input, isOn] of this.#isOn) input.checked = isOn();
    byId("filter-problems").checked = filters.problems;
    byId("namespace").value = filters.namespaces.size > 1 ? SEVERAL : [...filters.namespaces][0] ?? "";
    byId("filter-without").value = filters.without;
    byId("filter-without").setAttribute("aria-invalid", String(problem !== ""));
    byId("filter-without-problem").textContent = problem;
    byId("filter-clear").hidden = !isFiltered(filters);
  }

  #policyKinds(types) {
    return sorted(types, kindName).map(([type, count]) => this.#box("hiddenPolicyKinds", type, count, { word: kindName(type) }));
  }

  /** The selector in the header; a link may name several namespaces. */
  #namespaces(all) {
    const { namespaces } = this.#filters;
    fill(byId("namespace"), h("option", { value: "" }, "All namespaces"),
      namespaces.size > 1 && h("option", { value: SEVERAL }, `${namespaces.size} namespaces`),
      [...new Set([...all.keys(), ...namespaces])].sort(byName).map((name) => h("option", { value: name }, name)));
  }

  /** A choice of one value of a filter. Filters whose name begins with `hidden` have the values that are not checked. */
  #box(filter, value, count, { word = value, mark = undefined } = {}) {
    const isHidden = filter.startsWith("hidden");
    const change = (event) => {
      if (event.target.checked === isHidden) this.#filters[filter].delete(value);
      else this.#filters[filter].add(value);
      this.#changed();
    };
    const input = h("input", { type: "checkbox", on: { change } });
    this.#isOn.set(input, () => this.#filters[filter].has(value) !== isHidden);
    return h("label", { class: "choice", title: value }, input, mark, h("span", { class: "name" }, word), h("span", { class: "count" }, count.toLocaleString("en")));
  }
}

const sorted = (counts, nameOf = (name) => name) => [...counts].sort(([one], [other]) => byName(nameOf(one), nameOf(other)));
