import { Ajv, type ErrorObject } from 'ajv';
import addFormatsModule from 'ajv-formats';
import type { TSchema } from 'typebox';
import { fieldErrors } from '../base/json-schema.ts';
import { closedSchema } from './closed-schema.ts';
import type { ResourceProblem } from './kind.ts';

/** Checks a `spec`, filling in the schema's defaults in place. Tells what is wrong, pointers beginning with `/spec`. */
export type SpecCheck = (spec: unknown, limit: number) => readonly ResourceProblem[];

// The package is CommonJS: its function is the default of the default.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** A plugin that is set up anew brings the same schema again. They go with their schemas. */
const compiled = new WeakMap<TSchema, SpecCheck>();

/** Compiles a kind's schema. Throws when it is no valid JSON Schema. */
export function createSpecCheck(schema: TSchema): SpecCheck {
  const check = compiled.get(schema) ?? compileCheck(schema);
  compiled.set(schema, check);
  return check;
}

function compileCheck(schema: TSchema): SpecCheck {
  // An instance of its own: a shared one would keep every schema for ever.
  const compile = (allErrors: boolean) =>
    addFormats(new Ajv({ useDefaults: true, strict: false, verbose: true, allErrors })).compile(
      closedSchema(schema),
    );
  const isValid = compile(false);
  let tellAll: ReturnType<typeof compile> | undefined;
  return (spec, limit) => {
    if (isValid(spec)) return [];
    // An error for each item of a list of a million costs too much.
    if (JSON.stringify(spec).length > MAX_LENGTH_FOR_ALL) return describe(isValid.errors ?? []);
    tellAll ??= compile(true);
    tellAll(spec);
    return describe(tellAll.errors ?? []).slice(0, limit);
  };
}

const MAX_LENGTH_FOR_ALL = 64 * 1024;

function describe(errors: readonly ErrorObject[]): readonly ResourceProblem[] {
  return fieldErrors(errors, 'spec');
}
