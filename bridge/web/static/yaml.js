// Values as YAML, with a button that copies it.

import { h } from "./dom.js";
import { dump } from "./vendor/js-yaml.js";

const COPIED = 1_500; // ms that the button confirms

/** A value as YAML. */
export const yaml = (value) => dump(value, { lineWidth: -1, noRefs: true });

/** A closed block with a value as YAML and a button that copies it. */
export const yamlBlock = (title, value) => h("details", { class: "yaml" }, h("summary", {}, title), yamlText(title, value));

/** A value as YAML, with a button that copies it. */
export function yamlText(title, value) {
  const text = yaml(value);
  const status = h("span", { class: "quiet", role: "status" });
  const code = h("pre", { tabindex: 0, "aria-label": title }, text);
  const copy = h("button", { type: "button", class: "action", on: { click: async () => {
    status.textContent = (await copied(text, code)) ? "copied" : "press Ctrl+C";
    setTimeout(() => { status.textContent = ""; }, COPIED);
  } } }, "Copy");
  return [h("p", { class: "copy" }, copy, " ", status), code];
}

/** Copy a text; false if there is no clipboard (a page without TLS): the text is then selected. */
async function copied(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}
