import type { NodeTypes } from '../ports/execution.ts';
import { checkConfig } from './check-config.ts';
import type { ConfigCheck } from './config-members.ts';
import type { DrawnGraph, DrawnNode } from './drawn-graph.ts';
import { FIXED_TYPES } from './node-index.ts';
import { quote } from './quote.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Names with a meaning of their own in JavaScript objects. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/** Checks every node by itself: id, type and configuration. */
export function checkNodes({ nodes }: DrawnGraph, types: NodeTypes, check: ConfigCheck): void {
  const known = [...FIXED_TYPES, ...types.names()];
  const seen = new Set<string>();
  for (const node of nodes) {
    checkId(node, seen, check);
    const isUnknown = node.type !== undefined && !known.includes(node.type);
    if (isUnknown) reportType(node, node.type, known, check);
    checkConfig(isUnknown ? { ...node, type: undefined } : node, types, check);
  }
}

function checkId({ id, place, label }: DrawnNode, seen: Set<string>, { problems }: ConfigCheck): void {
  if (id === undefined) return;
  const at = { ...place, pointer: `${place.pointer}/id` };
  if (RESERVED.has(id))
    problems.add('node-id', `A node cannot have the id ${quote(id)}. Choose another.`, at);
  else if (!ID.test(id)) {
    const message = `${label}: an id has 1 to 64 of the characters A-Z a-z 0-9 _ -, since paths name it between dots.`;
    problems.add('node-id', message, at);
  }
  if (seen.has(id)) {
    problems.add('duplicate-node', `More than one node has the id ${quote(id)}. Give each its own.`, at);
  }
  seen.add(id);
}

function reportType(
  { place, label }: DrawnNode,
  type: string,
  known: readonly string[],
  { problems, suggest }: ConfigCheck,
): void {
  const message =
    `${label} has the type ${quote(type)}, which is not known.${suggest(type, known)} Known are ${known.join(', ')}; ` +
    'types of a plugin are there while it is enabled.';
  problems.add('node-type', message, { ...place, pointer: `${place.pointer}/type` });
}
