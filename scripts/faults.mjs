// Runs the long forms of the fault suites: `npm run test:faults`. A failure prints its seed. FORKPOINT_SEED repeats it.
import { run, setup } from "./setup.mjs";

const rust = (test, env) =>
  run("cargo", ["test", "--release", "--locked", "--no-default-features", "--test", test, "--", "--nocapture"], { env });

setup({ frameworks: false });
rust("faults", { FORKPOINT_IMAGES: "10000", FORKPOINT_FAULTS: "1", FORKPOINT_DAMAGES: "2000" });
rust("sqlite_flips", { FORKPOINT_TEST_FLIPS: "2000" });
