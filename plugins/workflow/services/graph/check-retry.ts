import type { Json } from '../../contract/graph.ts';
import { type ConfigCheck, type ConfiguredNode, reportMember } from './config-members.ts';
import { schemaProblems } from './config-schema.ts';
import { readDuration } from './durations.ts';
import { graphCode } from './graph-rules.ts';
import { isObject, ownMember } from './json-object.ts';
import { RETRY_DURATIONS, RetryConfig } from './retry-policy.ts';

/** Checks the `retry` of an automatic node. */
export function checkRetry(node: ConfiguredNode, retry: Json, check: ConfigCheck): void {
  if (!isObject(retry)) {
    reportMember(node, '/retry', 'must be an object: {"max_attempts": 3}.', graphCode('retry'), check);
    return;
  }
  for (const { pointer, message } of schemaProblems(RetryConfig, retry, check.suggest)) {
    reportMember(node, `/retry${pointer}`, message, graphCode('retry'), check);
  }
  const times = RETRY_DURATIONS.map((name) => {
    const written = ownMember(retry, name);
    // What is no text is told by the schema.
    const duration = typeof written === 'string' ? readDuration(written, 0) : undefined;
    if (duration === undefined || 'milliseconds' in duration) return duration?.milliseconds;
    reportMember(node, `/retry/${name}`, duration.fault, graphCode('duration'), check);
    return undefined;
  });
  const [delay, longest] = times;
  if (delay !== undefined && longest !== undefined && longest < delay) {
    const message = 'is shorter than the delay. Make it longer, or leave it out.';
    reportMember(node, '/retry/max_delay', message, graphCode('retry'), check);
  }
}
