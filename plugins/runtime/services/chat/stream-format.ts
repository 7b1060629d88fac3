import { type GatewayError, problemOf, redactText, type SseEvent } from 'agent-gateway';
import type { A2uiEvent } from './a2ui-events.ts';

/** How a stream is written (specification 3, Streaming formats). */
export type StreamMode = 'legacy' | 'a2ui';

/** The last data of a stream of text. */
const LEGACY_END = '[DONE]';
/** The place within a line of text that readers would take for the end. */
const WITHIN_END = /(?<=^[ \t]*\[DO)(?=NE\][ \t]*$)/m;

/**
 * An event of the A2UI mode as it is written: in its envelope of type, milliseconds since the epoch and data; or, for
 * readers of text, as text alone. In text mode, pauses and failures are named events, which plain readers of text skip;
 * other events are left out. Pure.
 */
export function onWire(
  mode: StreamMode,
  { type, data }: A2uiEvent,
  timestamp: number,
): readonly [SseEvent, ...SseEvent[]] | readonly [] {
  if (mode === 'a2ui') {
    const { problem: _, ...sent } = data ?? {};
    return [{ event: type, data: JSON.stringify({ type, timestamp, data: data && sent }) }];
  }
  switch (type) {
    case 'text':
      return textEvents(String(data?.delta));
    case 'interrupt':
      return [{ event: type, data: JSON.stringify(data) }];
    case 'error':
      return [{ event: type, data: JSON.stringify(data?.problem) }, { data: LEGACY_END }];
    case 'done':
      return [{ data: LEGACY_END }];
    default:
      return [];
  }
}

/**
 * Text as readers put it together again. What a model writes does not end the stream: a line that says `[DONE]` is sent
 * in two parts.
 */
function textEvents(text: string): readonly [SseEvent, ...SseEvent[]] {
  const [first = '', ...rest] = text.split(WITHIN_END);
  return [{ data: first }, ...rest.map((data) => ({ data }))];
}

/**
 * The event for a failure inside a stream. `problem` is for readers of text; `requestId` is that of the request that
 * began the chat. Pure.
 */
export function errorEvent(error: GatewayError, requestId: string): A2uiEvent {
  // Messages quote the request, which may hold a credential in the wrong place.
  const message = redactText(error.detail);
  return {
    type: 'error',
    data: { code: error.code, message, problem: { ...problemOf(error, requestId), detail: message } },
  };
}
