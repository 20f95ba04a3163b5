/** The registry of workflows by their names. */

import type { WorkflowRegistry as Contract, Workflow } from "../../../agentium.js";

class WorkflowRegistry implements Contract {
  readonly workflows = new Map<string, Workflow<any>>();

  add(workflow: Workflow<any>): void {
    this.workflows.set(workflow.name, workflow);
  }

  remove(workflow: Pick<Workflow<any>, "name">): boolean {
    return this.workflows.delete(workflow.name);
  }

  getWorkflow(name: string): Workflow<any> | undefined {
    return this.workflows.get(name);
  }

  list(): { workflows: string[] } {
    return { workflows: [...this.workflows.keys()] };
  }

  clear(): void {
    this.workflows.clear();
  }
}

export const registry = new WorkflowRegistry();
