/** Measures the tasks of a page's main thread: how long each took, and how much of that the processor worked for it. */

import type { Page } from "playwright-core";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

/** Starts to measure. The result ends it, and returns the longest task as text. */
export async function measureTasks(page: Page): Promise<() => Promise<string>> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel"], excludedCategories: ["*"] },
  });
  return async () => {
    const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await complete;
    await session.detach();
    const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
    const main = new Set(
      events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(threadOf),
    );
    const tasks = events.filter((each) => each.ph === "X" && each.name.endsWith("RunTask") && main.has(threadOf(each)));
    if (tasks.length === 0) throw new Error("the trace has no tasks of the page");
    const worked = Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1_000));
    const took = Math.max(...tasks.map(({ dur = 0 }) => dur / 1_000));
    return `at most ${worked.toFixed(1)} ms of the processor a task, ${took.toFixed(1)} ms of the clock`;
  };
}

/** Collects the tasks of the main thread that take longer than 50 ms, from now on. */
export const watchTasks = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    const add = (list: PerformanceObserverEntryList) =>
      tasks.push(...list.getEntries().map(({ duration }) => duration));
    new PerformanceObserver(add).observe({ type: "longtask" });
  });

/** Returns the times of these tasks in ms, and forgets them. */
export const longTasks = (page: Page): Promise<number[]> =>
  page.evaluate(() => (window as unknown as { tasks: number[] }).tasks.splice(0).map(Math.round));
