// deepagents' StoreBackend over our store: the files of agents, with the real package.
import { StoreBackend } from "deepagents";
import { ForkpointStore } from "forkpoint/langgraph";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "forkpoint-test-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

it("keeps the files of an agent, which another process reads, searches and edits", async () => {
  const path = join(folder(), "agent.db");
  const backendOf = (store: ForkpointStore, user: string) =>
    new StoreBackend({ store, namespace: ["files", user] } as never);
  const store = new ForkpointStore(path);
  const ada = backendOf(store, "ada");
  expect(await ada.write("/notes/plan.md", "# Plan\nbuy milk\n")).not.toHaveProperty("error", expect.any(String));
  await ada.write("/notes/todo.md", "call Bob\n");
  for (let n = 0; n < 150; n++) await ada.write(`/many/${n}.txt`, `number ${n}`);
  await backendOf(store, "bob").write("/notes/plan.md", "Bob's plan");
  await store.close();

  const again = new ForkpointStore(path);
  onTestFinished(() => again.close());
  const same = backendOf(again, "ada");
  expect(JSON.stringify(await same.read("/notes/plan.md"))).toContain("buy milk");
  expect(JSON.stringify(await same.ls("/notes"))).toMatch(/plan\.md.*todo\.md|todo\.md.*plan\.md/);
  const many = await same.glob("*.txt", "/many");
  expect(JSON.stringify(many).match(/\.txt/g)).toHaveLength(150);
  expect(JSON.stringify(await same.grep("milk"))).toContain("/notes/plan.md");
  await same.edit("/notes/plan.md", "milk", "bread");
  expect(JSON.stringify(await same.read("/notes/plan.md"))).toContain("buy bread");
  await same.delete("/notes/todo.md");
  expect(JSON.stringify(await same.ls("/notes"))).not.toContain("todo.md");
  expect(JSON.stringify(await backendOf(again, "bob").read("/notes/plan.md"))).toContain("Bob's plan");
});
