// Prints the effective policies of a target, from OPA: node build/effective.js OPA_URL KEY
import createClient from "openapi-fetch";

import type { paths } from "./api.js";

const [opa, target] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: opa });

const { data, error } = await client.POST("/v1/data/bridge/v1/effective", { body: { input: { targets: [target] } } });
if (error || data?.result === undefined) {
  throw new Error(error ? `${error.code}: ${error.message}` : "this OPA has not loaded the bridge's Rego");
}
if ("error" in data.result) {
  // OPA answers 200 also where the query is refused.
  console.error(`${data.result.error.code}: ${data.result.error.message}`);
  process.exit(1);
}
for (const { policyKind, paths } of data.result) {
  for (const { spec, origins } of paths) {
    console.log(policyKind, JSON.stringify(spec));
    for (const [pointer, policy] of Object.entries(origins ?? {})) {
      console.log(`  ${pointer} comes from ${JSON.stringify(policy)}`);
    }
  }
}
