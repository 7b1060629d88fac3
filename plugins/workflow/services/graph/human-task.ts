import Type from 'typebox';
import type { JsonObject } from '../../contract/graph.ts';
import type { Filled } from './compiled-graph.ts';
import { readDuration } from './durations.ts';
import { createFill, type Fill } from './fill-config.ts';
import { ownMember } from './json-object.ts';

/** Configuration of a human task (specification 2, Node). */
export const HumanTaskConfig = Type.Object(
  {
    assignee: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'Who may complete it: a user id, or `role:<name>`; empty: anybody who may execute. May hold templates: where they lead to nothing, only ' +
          'administrators may complete it',
      }),
    ),
    instructions: Type.Optional(Type.String({ description: 'What to do, for people. May hold templates' })),
    timeout: Type.Optional(
      Type.String({
        description:
          'Time from its activation (`72h`) after which it completes with the outcome `timeout`, where an edge has it, or fails. No template',
      }),
    ),
  },
  { additionalProperties: false },
);

/** How long the person has. `undefined`: for ever. Throws for a timeout that `checkGraph` refuses. */
export function readTimeout(config: JsonObject): number | undefined {
  const written = ownMember(config, 'timeout');
  if (written === undefined) return undefined;
  const duration = readDuration(written, MIN_TIMEOUT);
  if ('fault' in duration) throw new Error(`The timeout of a human task ${duration.fault}`);
  return duration.milliseconds;
}

/** Milliseconds of a timeout at least. */
export const MIN_TIMEOUT = 1;

/**
 * Fills a human task in. An assignee is always text. One whose templates led to nothing does not become "anybody", but somebody that only administrators
 * stand in for.
 */
export function createHumanFill(config: JsonObject): Fill {
  const fill = createFill(config, { timeout: 'none' });
  const isAssigned = (ownMember(config, 'assignee') ?? '') !== '';
  return (data) => {
    const filled = fill(data);
    return isAssigned ? { ...filled, input: { ...filled.input, assignee: assigneeOf(filled) } } : filled;
  };
}

const NOBODY_BUT_ADMINISTRATORS = 'role:admin';

function assigneeOf({ input }: Filled): string {
  const assignee = input.assignee ?? '';
  const text = typeof assignee === 'string' ? assignee.trim() : JSON.stringify(assignee);
  return text === '' ? NOBODY_BUT_ADMINISTRATORS : text;
}
