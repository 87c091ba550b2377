// Questions to the bridge. Every answer is JSON; what went wrong is an ApiError with a line for people.

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The topology: as much of its top as the bridge tells at once, or what `asked` (parameters) says. */
export const topology = (asked = {}) => {
  const parameters = new URLSearchParams(Object.entries(asked).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))).toString();
  return ask(`api/topology${parameters ? `?${parameters}` : ""}`);
};

/** One of the queries of the contract: its result. */
export const query = async (name, input) =>
  (await ask(`api/query/${name}`, { method: "POST", body: JSON.stringify({ input }) }, "application/json")).result;

/** What applying manifests (a text, YAML or JSON) would change, and deleting objects besides. */
export function changes(manifests, deleted = []) {
  const asked = deleted.map((name) => `delete=${encodeURIComponent(name)}`).join("&");
  return ask(`api/changes${asked ? `?${asked}` : ""}`, { method: "POST", body: manifests }, "application/yaml");
}

/** Hand the token over once: the browser keeps a cookie for it. */
export const login = (token) =>
  ask("api/login", { method: "POST", body: JSON.stringify({ token }) }, "application/json");

async function ask(path, options = {}, type = undefined) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: type ? { "Content-Type": type } : {}, cache: "no-store" });
  } catch {
    throw new ApiError(0, "Unreachable", "The bridge cannot be reached.");
  }
  let document;
  try {
    document = await response.json();
  } catch {
    throw new ApiError(response.status, "Unreadable", `The bridge answered ${response.status} without JSON.`);
  }
  if (!response.ok || document.error) {
    const { code = "Failed", message = `The bridge answered ${response.status}.` } = document.error ?? {};
    throw new ApiError(response.status, code, message);
  }
  return document;
}
