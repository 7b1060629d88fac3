import type { TSchema } from 'typebox';
import type { JsonObject } from '../../contract/graph.ts';
import { schemaProblems } from './config-schema.ts';
import type { DrawnNode, Reading } from './drawn-graph.ts';
import { graphCode } from './graph-rules.ts';
import type { NodeIndex } from './node-index.ts';

/** What checking configurations works with. */
export interface ConfigCheck extends Reading {
  readonly index: NodeIndex;
}

/** A node with a configuration that is JSON of a fair size. */
export interface ConfiguredNode extends DrawnNode {
  readonly config: JsonObject;
}

/** False when the schema says no to something. */
export function checkMembers(
  node: ConfiguredNode,
  config: JsonObject,
  schema: TSchema,
  check: ConfigCheck,
): boolean {
  const problems = schemaProblems(schema, config, check.suggest);
  for (const { rule, pointer, message } of problems) {
    reportMember(node, pointer, message, graphCode(rule), check);
  }
  return problems.length === 0;
}

/** Tells of a member of the configuration; `message` goes on after its name. */
export function reportMember(
  { label, place, type }: ConfiguredNode,
  pointer: string,
  message: string,
  code: string,
  { problems }: ConfigCheck,
): void {
  const name = pointer === '' ? 'the configuration' : `config${pointer}`;
  problems.addCoded(code, `${label} (${type}): ${name} ${message}`, {
    ...place,
    pointer: `${place.pointer}/config${pointer}`,
  });
}
