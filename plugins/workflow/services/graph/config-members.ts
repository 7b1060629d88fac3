import type { TSchema } from 'typebox';
import type { JsonObject } from '../../contract/graph.ts';
import { schemaProblems } from './config-schema.ts';
import type { DrawnNode, Reading } from './drawn-graph.ts';
import { graphCode } from './graph-rules.ts';
import type { NodeIndex } from './node-index.ts';
import { type UsableConfig, usableConfig } from './usable-config.ts';

/** What checking configurations works with. */
export interface ConfigCheck extends Reading {
  readonly index: NodeIndex;
}

/** A node with a configuration that is JSON of a fair size. */
export interface ConfiguredNode extends DrawnNode {
  readonly config: JsonObject;
}

/** Tells what the schema says no to. Gives back what can be looked at further. */
export function checkMembers(
  node: ConfiguredNode,
  config: JsonObject,
  schema: TSchema,
  check: ConfigCheck,
): UsableConfig | undefined {
  const problems = schemaProblems(schema, config, check.suggest);
  for (const { rule, pointer, message } of problems) {
    reportMember(node, pointer, message, graphCode(rule), check);
  }
  return problems.length === 0 ? { config, without: [] } : usableConfig(schema, config);
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
  const called = type === undefined ? label : `${label} (${type})`;
  problems.addCoded(code, `${called}: ${name} ${message}`, {
    ...place,
    pointer: `${place.pointer}/config${pointer}`,
  });
}
