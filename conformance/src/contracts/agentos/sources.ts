// Where expectations come from.

export const type = (name: string) => `documented: the types of @framers/agentos, ${name}` as const;
export const guide = (section: string) =>
  `documented: the guide "Checkpointing and Time-Travel" of AgentOS, ${section}` as const;
export const own = (does: string) => `framework: InMemoryCheckpointStore ${does}` as const;
export const runtime = (does: string) => `framework: GraphRuntime ${does}` as const;
