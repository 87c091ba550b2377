// Values that the browser keeps between visits: the theme, and the state and width of panels.

const PREFIX = "policy-bridge-";

/** A stored text, or undefined. */
export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined; // the browser stores nothing
  }
}

/** Store a text; undefined removes it. */
export function remember(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The choice lasts until the page is closed.
  }
}
