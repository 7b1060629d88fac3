import type { NodeType } from '../../contract/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { checkTemplates } from './check-references.ts';
import { checkRetry } from './check-retry.ts';
import { type ConfigCheck, type ConfiguredNode, checkMembers, reportMember } from './config-members.ts';
import type { DrawnNode } from './drawn-graph.ts';
import { readDuration } from './durations.ts';
import type { TemplateModes } from './fill-config.ts';
import { graphCode } from './graph-rules.ts';
import { HumanTaskConfig, MIN_TIMEOUT } from './human-task.ts';
import { jsonFault } from './json-fault.ts';
import { ownMember } from './json-object.ts';
import { GRAPH_LIMITS } from './limits.ts';
import type { UsableConfig } from './usable-config.ts';

/** Checks the configuration of a node. Its type is known, or `undefined`: then what holds for all types is checked. */
export function checkConfig(node: DrawnNode, types: NodeTypes, check: ConfigCheck): void {
  if (!isFair(node, check)) return;
  const { type } = node;
  if (type === 'start' || type === 'end') checkMarker(node, check);
  else if (type === 'human_task') checkHumanTask(node, check);
  else checkAutomatic(node, type === undefined ? undefined : types.get(type), check);
}

function isFair(node: DrawnNode, { problems }: ConfigCheck): node is ConfiguredNode {
  const { config, label, place } = node;
  if (config === undefined) return false;
  const limits = { bytes: GRAPH_LIMITS.configBytes, depth: GRAPH_LIMITS.jsonDepth };
  const fault = jsonFault(config, limits);
  if (fault === undefined) return true;
  const at = { ...place, pointer: `${place.pointer}/config` };
  if (fault === 'not-json') problems.add('shape', `${label}: the configuration holds what is no JSON.`, at);
  else {
    const message = `${label}: the configuration is too large. It may be 64 KiB of JSON, on ${limits.depth} levels. Put large data into the input of runs.`;
    problems.add('config-too-large', message, at);
  }
  return false;
}

function checkMarker({ config, label, place, type }: ConfiguredNode, { problems }: ConfigCheck): void {
  if (Object.keys(config).length === 0) return;
  const message = `${label} is a node of type ${type}, which has no configuration. Leave "config" out.`;
  problems.add('config-unknown', message, { ...place, pointer: `${place.pointer}/config` });
}

function checkHumanTask(node: ConfiguredNode, check: ConfigCheck): void {
  const { label, place } = node;
  const { retry, ...config } = node.config;
  if (retry !== undefined) {
    const message = `${label} is a human task, which cannot have a "retry". Leave it out.`;
    check.problems.add('retry-misplaced', message, { ...place, pointer: `${place.pointer}/config/retry` });
  }
  const usable = checkMembers(node, config, HumanTaskConfig, check);
  checkTemplates(node, config, { timeout: 'none' }, check);
  if (usable === undefined) return;
  const timeout = ownMember(usable.config, 'timeout');
  const duration = timeout === undefined ? undefined : readDuration(timeout, MIN_TIMEOUT);
  if (duration !== undefined && 'fault' in duration) {
    reportMember(node, '/timeout', duration.fault, graphCode('duration'), check);
  }
  if (ownMember(usable.config, 'assignee') === 'role:') {
    reportMember(node, '/assignee', 'names no role. Write role:<name>.', graphCode('config-invalid'), check);
  }
}

function checkAutomatic(node: ConfiguredNode, type: NodeType | undefined, check: ConfigCheck): void {
  const { retry, ...config } = node.config;
  if (retry !== undefined) checkRetry(node, retry, check);
  const usable = type && checkMembers(node, config, type.config, check);
  const modes: TemplateModes = type?.templates ?? {};
  checkTemplates(node, config, modes, check);
  if (type === undefined || usable === undefined) return;
  for (const { pointer, message, code = graphCode('config-invalid') } of typeProblems(type, usable)) {
    reportMember(node, pointer, message, code, check);
  }
}

type TypeProblems = ReturnType<NonNullable<NodeType['check']>>;

/** What the type itself says, but for members whose fault is told already. */
function typeProblems(type: NodeType, { config, without }: UsableConfig): TypeProblems {
  if (type.check === undefined) return [];
  if (without.length === 0) return type.check(config);
  let found: TypeProblems;
  try {
    found = type.check(config);
  } catch {
    // It needs a member that is missing, which is told: it is asked again when the member is there, and what it throws then counts.
    return [];
  }
  // Of the whole configuration nothing is known while a part of it is not there.
  return found.filter(
    ({ pointer }) =>
      pointer !== '' && !without.some((faulty) => pointer === faulty || pointer.startsWith(`${faulty}/`)),
  );
}
