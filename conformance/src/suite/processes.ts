// What contracts do with other processes.
import type { Trial } from "./types.js";

type Start = readonly [program: string, input?: unknown];

/**
 * Starts programs that say that they are ready, and lets them go on at the same time. Returns their results. The store should be made
 * before: that several processes make a store at the same time is not what most races are about.
 */
export async function race<Result = any>(trial: Trial<any>, ...starts: readonly Start[]): Promise<Result[]> {
  const children = starts.map(([program, input]) => trial.child(program, input));
  await Promise.all(children.map((child) => child.next()));
  for (const child of children) child.tell("go");
  return await Promise.all(children.map((child) => child.result()));
}

/**
 * Kills a program at a random moment after it has said its first word. Returns all that it has said. Opens the store before, because
 * some stores make their tables then, and again after it, as a process does that goes on.
 */
export async function killed(trial: Trial<any>, program: string, input?: unknown): Promise<any[]> {
  await trial.store();
  const child = trial.child(program, input);
  await child.next();
  await trial.sleep(20 + trial.random(120));
  const said = await child.kill();
  // A database server may still commit what the process has sent it.
  await trial.sleep(200);
  await trial.reopen();
  return said;
}
