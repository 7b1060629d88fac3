import type { Ids } from '../../base/ids.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import { QueueErrors } from './errors.ts';
import type { PublishOptions } from './queue.ts';
import type { QueueRef } from './queue-ref.ts';

/** A message as it travels. */
export interface Message {
  readonly id: string;
  /** True when the publisher named it: only then can another of the same id exist. */
  readonly isNamed: boolean;
  /** The payload as JSON. */
  readonly text: string;
  /** Milliseconds until it is due. */
  readonly delay: number;
}

/** Bytes of a payload as JSON in UTF-8. A hint holds ids; the rest is in the database. */
export const MAX_PAYLOAD_BYTES = 16 * 1024;
const MAX_DELAY_MS = 24 * 3_600_000;
const MESSAGE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Checks a message and writes it down. The checks name the bad member, never its value. */
export function encodeMessage<T>(
  queue: QueueRef<T>,
  payload: T,
  { id, delay = 0 }: PublishOptions,
  ids: Ids,
): Message {
  if (id !== undefined && !MESSAGE_ID.test(id)) {
    throw QueueErrors.idInvalid(
      `id: a message of ${queue.id} is named by letters, digits, ".", "_" and "-", 128 at most`,
    );
  }
  if (!Number.isInteger(delay) || delay < 0 || delay > MAX_DELAY_MS) {
    throw QueueErrors.optionInvalid(
      `delay: must be a whole number of milliseconds from 0 to ${MAX_DELAY_MS}`,
    );
  }
  const problem = payloadProblem(queue.schema, payload);
  if (problem !== undefined) throw QueueErrors.payloadInvalid(`${queue.id}: ${problem}`);
  const text = JSON.stringify(payload);
  if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) {
    throw QueueErrors.payloadTooLarge(
      `${queue.id}: the payload is above ${MAX_PAYLOAD_BYTES} bytes; send an id`,
    );
  }
  return { id: id ?? ids.uuid(), isNamed: id !== undefined, text, delay };
}

/** The payload that arrived. @throws queue.payload-invalid when it is not what the schema says */
export function decodePayload<T>(queue: QueueRef<T>, text: unknown): T {
  if (typeof text !== 'string') throw QueueErrors.payloadInvalid(`${queue.id}: the payload is no text`);
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    throw QueueErrors.payloadInvalid(`${queue.id}: the payload is no JSON`);
  }
  const problem = payloadProblem(queue.schema, payload);
  if (problem !== undefined) throw QueueErrors.payloadInvalid(`${queue.id}: ${problem}`);
  return payload as T;
}
