// The suites of `__test__` that run on other platforms, and what fails there for reasons that aren't Forkpoint's.

/** What runs in 15 minutes, in qemu, too: stores, kills, faults and the command line. */
const files = [
  "__test__/addon.test.ts",
  "__test__/kills.test.ts",
  "__test__/recovery.test.ts",
  "__test__/hostile.test.ts",
  "__test__/jsonl-links.test.ts",
  "__test__/leases.test.ts",
  "__test__/exact-json.test.ts",
  "__test__/large.test.ts",
  "__test__/workers.test.ts",
  "__test__/encryption.test.ts",
  "__test__/inspect",
  "__test__/cli/looking.test.ts",
  "__test__/faults/crash.test.ts",
];

/** Returns the test files that run on a platform. In wine, only the smoke program runs: the tools of the tests haven't been tried there. */
export const suites = (platform) => (platform === "win32-x64-msvc" ? [] : files);

/** The tests that fail on a platform for a reason outside of Forkpoint: a part of the test's name, and the reason. */
const faults = {
  "linux-x64-musl": [],
  "linux-arm64-gnu": [],
  "linux-arm64-musl": [],
};

export const emulatorsFaults = (platform) => faults[platform] ?? [];
