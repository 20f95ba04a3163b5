// Mutants that store too much.
import { ReferenceSession } from "./reference.mjs";

const valueOf = (figures, name) => figures.find((figure) => figure.name === name)?.value ?? 0;
const grows = (name) => (mutant, reference) => valueOf(mutant, name) > 2 * valueOf(reference, name);

export const growth = {
  "openai-agents/growth-turns": {
    // Stores the whole conversation after each turn.
    session: class extends ReferenceSession {
      async addItems(items) {
        await this.store.replace(this.id, [...(await this.getItems()), ...items]);
      }
    },
    isWorse: grows("200 turns of 2 KB"),
  },
  "openai-agents/growth-cleared": {
    // Keeps what was cleared, as another session.
    session: class extends ReferenceSession {
      async clearSession() {
        const items = await this.getItems();
        for (const copy of ["old", "older"]) await this.store.add(`${copy} ${this.id}`, items);
        await super.clearSession();
      }
    },
    isWorse: grows("20 cleared conversations of 50 KB"),
  },
};
