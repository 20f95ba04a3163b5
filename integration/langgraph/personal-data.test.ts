// What deletes a person's data: see docs/personal-data.md.
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { ForkpointCache, ForkpointSaver, ForkpointStore } from "forkpoint/langgraph";
import { forgets } from "../../__test__/personal-data.js";
import { sequence } from "./helpers.js";

const mail = (person: string) => `My mail is ${person}@example.com.`;

forgets("LangGraph", "deleteThread(threadId)", {
  open: (target, options) => new ForkpointSaver(target, options),
  async store(checkpointer, person) {
    const sub = sequence(MessagesAnnotation, {
      ask: ({ messages }) => ({ messages: [interrupt<unknown, string>(messages)] }),
    }).compile();
    const graph = sequence(MessagesAnnotation, { sub }).compile({ checkpointer });
    await graph.invoke({ messages: [new HumanMessage(mail(person))] }, { configurable: { thread_id: person } });
  },
  remove: (saver, person) => saver.deleteThread(person),
});

forgets("LangGraph, store", "delete(namespace, key)", {
  open: (target, options) => new ForkpointStore(target, options),
  store: (store, person) => store.put(["users", person], "facts", { mail: mail(person) }),
  remove: (store, person) => store.delete(["users", person], "facts"),
});

/** The caches of a database, one for each person. */
function caches(target: string, options: object) {
  const cache = new ForkpointCache(target, options);
  return {
    of: (namespace: string) => new ForkpointCache(target, { ...options, namespace }),
    vacuum: () => cache.vacuum(),
    close: () => cache.close(),
  };
}

forgets("LangGraph, cache", "clear([])", {
  open: caches,
  async store(all, person) {
    await using cache = all.of(person);
    const State = Annotation.Root({ mail: Annotation<string> });
    await new StateGraph(State)
      .addNode("greet", (state) => ({ mail: `Hello! ${state.mail}` }), { cachePolicy: {} })
      .addEdge(START, "greet")
      .compile({ cache })
      .invoke({ mail: mail(person) });
  },
  async remove(all, person) {
    await using cache = all.of(person);
    await cache.clear([]);
  },
});
