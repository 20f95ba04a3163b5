/** The description of a version of a program, as JSON: the result of each framework's `describe`. */

import { type ProgramSpace, WITH_PROGRAMS } from "../contracts/registry.js";
import { isArray, show, typeError } from "../bridge/errors.js";
import type { ProgramEdge, ProgramNode, ProgramShape } from "./compare-programs.js";
import { oneOf, programOption, type OptionParser } from "./options.js";

/**
 * Describes a version of a program, as JSON: its nodes or steps, its edges and its fields. Each framework's `describe`
 * returns it. An inspector's `drainCheck` and `forkpoint drain-check` take it.
 */
export interface ProgramDescription extends ProgramShape {
  /** The framework. */
  space: ProgramSpace;
}

/** The name and the version of a program, if the graph itself has none. */
export interface DescribeOptions {
  /** The name of the program, equal to the store's option `program`. Default: the name of the graph. */
  program?: string;
  /** The version of the program, equal to the store's option `version`. Default: none. */
  version?: string;
}

export const describeOptions = { program: programOption, version: programOption } satisfies Record<
  keyof DescribeOptions,
  OptionParser<string>
>;

/** Returns a description whose fields have a fixed order. */
export function descriptionOf(
  space: ProgramDescription["space"],
  { program, version, nodes, edges, fields }: ProgramShape,
): ProgramDescription {
  const named = { ...(program !== undefined && { program }), ...(version !== undefined && { version }) };
  return { space, ...named, nodes, edges, ...(fields && { fields }) };
}

const isText = (text: unknown) => typeof text === "string";

const areAll = (list: unknown, is: (item: any) => boolean) => isArray(list) && (list as unknown[]).every(is);

const isNode = (node: Partial<ProgramNode> | null) => isText(node?.name);

const isEdge = (edge: Partial<ProgramEdge> | null) =>
  isText(edge?.from) && isText(edge?.to) && (edge?.joins === undefined || areAll(edge.joins, isText));

/** Checks a description that was read from JSON. */
export function readDescription(value: unknown, name: string): ProgramDescription {
  const { space, program, version, nodes, edges, fields } = (value ?? {}) as Partial<ProgramDescription>;
  const isDescription =
    areAll(nodes, isNode) && areAll(edges, isEdge) && (fields === undefined || areAll(fields, isText));
  if (!isDescription) throw typeError(`${name} must be what describe() of a framework returns, but is ${show(value)}`);
  return descriptionOf(oneOf(...WITH_PROGRAMS)(space, `${name}.space`), {
    program: program === undefined ? undefined : programOption(program, `${name}.program`),
    version: version === undefined ? undefined : programOption(version, `${name}.version`),
    nodes: nodes!,
    edges: edges!,
    fields,
  });
}
