// A server goes back in time under living processes: a dump is restored, or an older copy of its data folder goes on.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { amount, isLong } from "../../__test__/faults/faults.js";
import { has, tool } from "../../__test__/faults/machines.js";
import { callsOverTime } from "../../__test__/faults/time-calls.js";
import { type Machine, timeGoesBack } from "../../__test__/faults/time.js";
import { folder } from "../../__test__/helpers.js";
import { recoverOverTime } from "../langgraph/recover-over-time.js";
import { answering, emptyUrl, modules, onServer, type Server } from "./faults.js";
import { installed } from "./server.mjs";

const file = "integration/postgres/faults-time.test.ts";
/** Helix has messages as well as checkpoints. The short form leaves out the frameworks that have only checkpoints. */
const chosen = modules.filter(([name]) => isLong("FORKPOINT_FAULT_REWINDS") || ["helix", "langgraph"].includes(name));

/** How often each database goes back. */
const rewinds = amount("FORKPOINT_FAULT_REWINDS", 2);
const timeout = 60_000 + rewinds * 20_000;

/** Restores a dump, in one transaction or statement by statement. Or the server goes on from a copy of its files. */
function serverThatGoesBack(server: Server, version: number, url: string): Machine {
  const bin = binOf(version);
  const home = folder();
  const dump = join(home, "dump.sql");
  const copy = `${server.data}-copy`;
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  const quiet = ["-q", "-X", "-v", "ON_ERROR_STOP=1"];
  /** A server ends one of two transactions that wait for each other: psql's, or that of a process that saves. */
  const psql = (...args: string[]): Promise<string> =>
    tool(join(bin, "psql"), [...quiet, ...args, url]).catch((error) =>
      String(error).includes("deadlock detected") ? psql(...args) : Promise.reject(error),
    );
  const drop = ["-c", "DROP SCHEMA IF EXISTS forkpoint CASCADE"];
  const goBack: Record<string, () => Promise<unknown>> = {
    "psql, one transaction": () => psql("-1", ...drop, "-f", dump),
    async "an older data folder"() {
      await server.halt();
      rmSync(server.data, { recursive: true });
      await tool("cp", ["-a", copy, server.data]);
      await server.start();
      await answering(server);
    },
    psql: () => psql(...drop, "-f", dump),
  };
  return {
    ways: Object.keys(goBack).map((name) => ({ name, atomic: name !== "psql" })),
    async snapshot() {
      await tool(join(bin, "pg_dump"), ["-n", "forkpoint", "-f", dump, url]);
      await server.halt();
      rmSync(copy, { recursive: true, force: true });
      await tool("cp", ["-a", server.data, copy]);
      await server.start();
      await answering(server);
    },
    goBack: (way) => goBack[way]!(),
    goBackNow: () => void execFileSync(join(bin, "psql"), [...quiet, "-1", ...drop, "-f", dump, url]),
  };
}

const binOf = (version: number) => (installed() as Map<number, string>).get(version)!;

onServer("with pg_dump", (server, version) => {
  // The programs of an npm package have no pg_dump.
  describe.skipIf(!has("pg_dump", join(binOf(version), "pg_dump")))("goes back", () => {
    it.each(chosen)("%s: what is read is what was saved and is not gone", { timeout }, async (name, module) => {
      const url = await emptyUrl(server());
      const journey = await timeGoesBack(url, module, serverThatGoesBack(server(), version, url), rewinds, file);
      if (isLong("FORKPOINT_FAULT_REWINDS")) console.log({ version, name, ...journey });
      expect(journey).toMatchObject({ rewinds, checks: 2 * rewinds });
    });

    const place = async () => {
      const url = await emptyUrl(server());
      return { target: url, machine: serverThatGoesBack(server(), version, url) };
    };
    callsOverTime(place);
    recoverOverTime(place);
  });
});
