import { type FieldError, nearestName } from 'agent-gateway';
import { RUN_EVENT_TYPES } from '../../../workflow/contract.ts';

/**
 * The types to which webhooks can subscribe (decisions 3.2, 2.7). `webhook.test` goes to the tested webhook, whatever
 * its subscriptions.
 */
export const WEBHOOK_EVENT_TYPES = [
  'agent.run.completed',
  'agent.run.failed',
  'agent.run.interrupted',
  'tool.call.completed',
  'tool.call.failed',
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'agent.reloaded',
  ...RUN_EVENT_TYPES.map((type) => `workflow.${type}` as const),
  'webhook.test',
] as const;

export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** Whether a pattern names the type: `*`, `workflow.*` (whole segments, at any depth), or the type itself. */
export function matchesType(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}

/** Patterns of one webhook. */
export const MAX_PATTERNS = 50;
/** Characters of a pattern. */
export const PATTERN_LENGTH = 64;

/** The problems of the `events` of a body, which may be anything: of a wrong type or size the schema speaks. Pure. */
export function patternProblems(events: unknown): readonly FieldError[] {
  if (!Array.isArray(events) || events.length > MAX_PATTERNS) return [];
  return events.flatMap((pattern, index) => {
    if (typeof pattern !== 'string' || pattern.length > PATTERN_LENGTH) return [];
    const message = patternProblem(pattern);
    return message === undefined ? [] : [{ pointer: `/body/events/${index}`, message }];
  });
}

/** The problem of a pattern; undefined where it names an existing type. */
function patternProblem(pattern: string): string | undefined {
  if (WEBHOOK_EVENT_TYPES.some((type) => matchesType(pattern, type))) return undefined;
  const meant = nearestName(pattern, WEBHOOK_EVENT_TYPES);
  return `${JSON.stringify(pattern)} is no event type${meant === undefined ? '' : `, ${meant} is`}; write a type, a group such as workflow.* or agent.run.*, or *`;
}
