import { Ajv, type ValidateFunction } from 'ajv';
import addFormatsModule from 'ajv-formats';
import type { TSchema } from 'typebox';

// The package is CommonJS: its function is the default of the default.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

// Generations of a plugin may have schemas of one `$id`: none is added under its name.
let ajv: Ajv | undefined;
const validators = new WeakMap<TSchema, ValidateFunction>();

/**
 * What is wrong with the payload of an event, a hint or a job, naming the member and no value; `undefined` when it fits. The payload is left
 * as it is. Each schema is compiled once, when the first payload is checked.
 */
export function payloadProblem(schema: TSchema, payload: unknown): string | undefined {
  const fits = validatorOf(schema);
  if (fits(payload)) return undefined;
  const [first] = fits.errors ?? [];
  return `${first?.instancePath || 'the payload'} ${first?.message ?? 'does not fit'}`;
}

function validatorOf(schema: TSchema): ValidateFunction {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  ajv ??= addFormats(new Ajv({ strict: false, addUsedSchema: false }));
  const made = ajv.compile(schema);
  validators.set(schema, made);
  return made;
}

/** What is wrong with a payload as it arrived, or the payload. */
export type ReadPayload<T> = { readonly payload: T } | { readonly problem: string };

/** Reads the JSON of a payload that another version of the gateway may have written. */
export function readPayload<T>(schema: TSchema, text: unknown): ReadPayload<T> {
  if (typeof text !== 'string') return { problem: 'the payload is no text' };
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return { problem: 'the payload is no JSON' };
  }
  const problem = payloadProblem(schema, payload);
  return problem === undefined ? { payload: payload as T } : { problem };
}
