// Tabs by the WAI-ARIA pattern: arrow keys move between them.

import { byId } from "./dom.js";

/** Set up a tab list; returns `select(name)`. `chosen(name)` is called when the user changes the tab. */
export function setUpTabs(list, chosen) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const select = (name) => {
    for (const tab of tabs) {
      const on = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !on;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab) return;
    select(tab.dataset.tab);
    chosen(tab.dataset.tab);
  });
  list.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const at = tabs.indexOf(document.activeElement);
    let next;
    if (event.key in steps) next = (at + steps[event.key] + tabs.length) % tabs.length;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = tabs.length - 1;
    else return;
    event.preventDefault();
    tabs[next].focus();
    select(tabs[next].dataset.tab);
    chosen(tabs[next].dataset.tab);
  });
  return select;
}
