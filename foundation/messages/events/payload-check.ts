import { Ajv, type ValidateFunction } from 'ajv';
import addFormatsModule from 'ajv-formats';
import type { TSchema } from 'typebox';

// The package is CommonJS: its function is the default of the default.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** Checks payloads against the schemas of events, each of which is compiled once. Payloads are left as they are. */
export class PayloadCheck {
  // Generations of a plugin may have schemas of one `$id`: none is added under its name.
  readonly #ajv = addFormats(new Ajv({ strict: false, addUsedSchema: false }));
  readonly #validators = new WeakMap<TSchema, ValidateFunction>();

  /** What is wrong with the payload, naming the member and no value; `undefined` when it fits. */
  problem(schema: TSchema, payload: unknown): string | undefined {
    const fits = this.#validatorOf(schema);
    if (fits(payload)) return undefined;
    const [first] = fits.errors ?? [];
    return `${first?.instancePath || 'the payload'} ${first?.message ?? 'does not fit'}`;
  }

  #validatorOf(schema: TSchema): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known !== undefined) return known;
    const made = this.#ajv.compile(schema);
    this.#validators.set(schema, made);
    return made;
  }
}
