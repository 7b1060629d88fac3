import Type from 'typebox';
import { RunEventSchema } from './run-schemas.ts';

/** Which events of a run are asked for. */
export const EventQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Only events with a higher `seq`',
    }),
  ),
  limit: Type.Integer({ minimum: 0, default: 100, description: 'Of a JSON answer; 500 at most' }),
});

/** How the events are asked for. */
export const EventHeaders = Type.Object({
  accept: Type.Optional(Type.String()),
  'last-event-id': Type.Optional(
    Type.String({
      pattern: '^[0-9]{0,15}$',
      patternErrorMessage: 'must be the `seq` of an event: 15 digits at most',
      description: '`seq` of the last event that a stream has brought; counts before `after`',
    }),
  ),
});

/** The events of an answer, oldest first. */
export const EventList = Type.Object({
  events: Type.Array(RunEventSchema),
  total: Type.Integer({ description: 'Events of the run so far' }),
  limit: Type.Integer(),
});

/** True when a client asks for an event stream, and not for JSON before it. */
export function wantsStream({ accept = '' }: { readonly accept?: string | undefined }): boolean {
  const types = accept.toLowerCase();
  const stream = types.indexOf('text/event-stream');
  const json = types.indexOf('application/json');
  return stream >= 0 && (json < 0 || stream < json);
}

/** Number of the last event that a client has. */
export function lastSeen(
  headers: { readonly 'last-event-id'?: string | undefined },
  query: { readonly after?: number | undefined },
): number {
  const id = headers['last-event-id'] ?? '';
  return id === '' ? (query.after ?? 0) : Number(id);
}
