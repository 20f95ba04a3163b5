// Runs the fault tests in their long forms, in about two hours: `npm run test:faults`. An argument selects the commands
// that contain it: `npm run test:faults -- floods`. FORKPOINT_TEST_SEED=<number> selects other random choices.
import { root, run, setup } from "./setup.mjs";

/** Runs the fault tests of a file with these variables. `npm test` runs the same tests without them. */
const vitest = (file, env) => [
  process.execPath,
  [`${root}node_modules/vitest/vitest.mjs`, "run", "--pool=forks", file],
  env,
];

/** Runs tests of the engine with these variables. `npm test` runs the same tests without them. */
const cargo = (target, env, ...names) => [
  "cargo",
  [
    "test",
    "--release",
    "--locked",
    "--package",
    "forkpoint-engine-tests",
    "--test",
    target,
    "--",
    "--nocapture",
    ...names,
  ],
  env,
];

const commands = [
  // 10,000 images of a power loss, a failure of every call of the workload, and 2,000 damages.
  cargo("faults", { FORKPOINT_IMAGES: "10000", FORKPOINT_FAULTS: "1", FORKPOINT_DAMAGES: "2000" }),
  cargo("suite", { FORKPOINT_TEST_FLIPS: "10000" }, "sqlite::flips"),
  cargo("suite", { PROPTEST_CASES: "3000" }, "model"),
  // Every command reads every hostile file.
  vitest("__test__/hostile-files.test.ts", { FORKPOINT_TEST_HOSTILE: "all" }),
  // Ten stores, and two stores of LangGraph, are each killed 20 times.
  vitest("__test__/faults/crash.test.ts", { FORKPOINT_FAULT_CYCLES: "20" }),
  vitest("integration/langgraph/faults.test.ts", {
    FORKPOINT_FAULT_CYCLES: "20",
    FORKPOINT_FAULT_MS: "60000",
    FORKPOINT_FAULT_ROUNDS: "200",
  }),
  // Several actors work on one run, in random order.
  vitest("integration/langgraph/meeting.test.ts", { FORKPOINT_TEST_MEETINGS: "100" }),
  vitest("__test__/meeting.test.ts", { FORKPOINT_TEST_MEETINGS: "100" }),
  // 4,000 requests for 500 runs.
  vitest("__test__/exclusive.test.ts", { FORKPOINT_TEST_MEETINGS: "500" }),
  // Processes that meet on a run are killed at each call.
  vitest("__test__/kills.test.ts", { FORKPOINT_TEST_MEETINGS: "100" }),
  vitest("integration/langgraph/kills.test.ts", { FORKPOINT_TEST_MEETINGS: "100" }),
  // A program with effects is killed at every await.
  vitest("integration/agentos/effects-crash.test.ts", { FORKPOINT_FAULT_EVERY: "1" }),
  vitest("__test__/faults/contention.test.ts", { FORKPOINT_FAULT_MS: "60000", FORKPOINT_FAULT_ROUNDS: "200" }),
  vitest("__test__/faults/floods.test.ts", {
    FORKPOINT_FAULT_PAIRS: "200000",
    FORKPOINT_FAULT_STORES: "10000",
    FORKPOINT_FAULT_TOGETHER: "1000",
  }),
  // Programs with effects are killed at each await.
  vitest("__test__/faults/effects.test.ts", { FORKPOINT_FAULT_EFFECTS: "1000" }),
  vitest("integration/langgraph/faults-effects.test.ts", { FORKPOINT_FAULT_EFFECTS: "1000" }),
  // The four workers of a rolling deploy are each killed this many times.
  vitest("__test__/programs/rolling.test.ts", { FORKPOINT_FAULT_DEPLOYS: "50" }),
  vitest("__test__/faults/workers.test.ts", { FORKPOINT_FAULT_TERMINATIONS: "60" }),
  vitest("__test__/faults/clock.test.ts", { FORKPOINT_FAULT_CLOCK: "500" }),
  vitest("__test__/faults/exits.test.ts", { FORKPOINT_FAULT_EXITS: "all" }),
  // Each database is restored this many times, for each contract.
  vitest("__test__/faults/time.test.ts", { FORKPOINT_FAULT_REWINDS: "50" }),
  vitest("integration/langgraph/faults-time.test.ts", { FORKPOINT_FAULT_REWINDS: "50" }),
  vitest("integration/postgres/faults-time.test.ts", { FORKPOINT_FAULT_REWINDS: "30" }),
  vitest("__test__/faults/options.test.ts", { FORKPOINT_FAULT_OPTIONS: "20000" }),
  // Five formats, 12 minutes each.
  vitest("__test__/incremental/incremental.test.ts", { FORKPOINT_TEST_ROUNDS: "1000" }),
  vitest("__test__/tinyagents/model.test.ts", { FORKPOINT_TEST_SEQUENCES: "300" }),
  vitest("__test__/incremental/differential.test.ts", { FORKPOINT_FAULT_DIFFERENTIAL_MS: "720000" }),
  vitest("integration/langgraph/differential.test.ts", { FORKPOINT_FAULT_DIFFERENTIAL_MS: "720000" }),
  // On the oldest and the newest Postgres. A connection is cut at each message, and the server is killed 10 times.
  vitest("integration/postgres/faults-contention.test.ts", {
    FORKPOINT_FAULT_MS: "60000",
    FORKPOINT_FAULT_ROUNDS: "500",
  }),
  vitest("integration/postgres/faults-pooler.test.ts", { FORKPOINT_FAULT_MS: "60000", FORKPOINT_FAULT_ROUNDS: "500" }),
  vitest("integration/postgres/faults-crash.test.ts", { FORKPOINT_FAULT_RESTARTS: "10" }),
  vitest("integration/postgres/faults-kills.test.ts", { FORKPOINT_FAULT_CYCLES: "20" }),
  vitest("integration/postgres/faults-effects.test.ts", { FORKPOINT_FAULT_EFFECTS: "1000" }),
  vitest("integration/postgres/failover.test.ts", { FORKPOINT_FAULT_FAILOVERS: "10" }),
  // Three servers under Patroni, whose leader is killed this many times, with and without synchronous replication.
  vitest("integration/postgres/patroni.test.ts", { FORKPOINT_FAULT_PATRONI: "10" }),
  vitest("integration/postgres/exits.test.ts", { FORKPOINT_FAULT_POSTGRES: "1" }),
  vitest("integration/postgres/limits.test.ts", { FORKPOINT_FAULT_POSTGRES: "1" }),
  vitest("integration/postgres/faults-wire.test.ts", { FORKPOINT_FAULT_EVERY: "1" }),
  vitest("integration/postgres/faults-text.test.ts", { FORKPOINT_FAULT_TEXTS: "300" }),
  vitest("integration/postgres/faults-disk.test.ts", { FORKPOINT_FAULT_POSTGRES: "1" }),
  vitest("integration/postgres/faults-roles.test.ts", { FORKPOINT_FAULT_POSTGRES: "1" }),
  vitest("integration/postgres/faults-secrets.test.ts", { FORKPOINT_FAULT_POSTGRES: "1" }),
];

const chosen = process.argv[2] ?? "";
setup();
for (const [command, args, env] of commands) if (args.join(" ").includes(chosen)) run(command, args, { env });
