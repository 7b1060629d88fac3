import type { TSchema } from 'typebox';
import { parsedJson } from '../base/json-object.ts';
import { payloadProblem } from '../base/json-schema.ts';

/** What is wrong with a payload as it arrived, or the payload. */
export type ReadPayload<T> = { readonly payload: T } | { readonly problem: string };

/** Reads the JSON of a payload that another version of the gateway may have written. */
export function readPayload<T>(schema: TSchema, text: unknown): ReadPayload<T> {
  if (typeof text !== 'string') return { problem: 'the payload is no text' };
  const payload = parsedJson(text);
  if (payload === undefined) return { problem: 'the payload is no JSON' };
  const problem = payloadProblem(schema, payload);
  return problem === undefined ? { payload: payload as T } : { problem };
}
