import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import type { RunKey } from "../bridge/native.js";
import { Contract } from "../bridge/wire.js";
import type { Engine } from "./engine.js";

type Inspect = CallsOf<engine.inspect.Call, engine.inspect.Responses>;

const inspect = new Contract<Inspect>("inspect", { kinds: { rows: null } });

/** Returns the id of the newest checkpoint of a run of any contract. Null: the run has none. */
export async function newestId({ native }: Pick<Engine, "native">, { space, run, ns }: RunKey): Promise<string | null> {
  const page = { space, run, ns, from: "end", newestFirst: true, limit: 1, sums: false } as const;
  const [found] = await inspect.call(native, "rows", { pages: [page] });
  return found?.rows[0]?.id ?? null;
}
