// The ends of processes and of workers, none of which takes what was saved, and processes that meet on one run.
import { describe } from "vitest";

describe("postgres", async () => {
  await import("../../../__test__/exit.test.js");
  await import("../../../__test__/workers.test.js");
  await import("../../../__test__/meeting.test.js");
});
