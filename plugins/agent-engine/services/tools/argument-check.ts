import {
  compileSchema,
  isJsonObject,
  recentMap,
  type SchemaCheck,
  type SchemaError,
  type SchemaOptions,
} from 'agent-gateway';
import type { ParameterSchema, Tool } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';

/**
 * What a model wrote as the arguments of a call: an object that fits the tool, or the problems to report to the model.
 */
export type CheckedArguments =
  | { readonly input: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly string[] };

/** Checks arguments of calls. */
export type ArgumentCheck = (tool: Pick<Tool, 'ref' | 'parameters'>, text: string) => CheckedArguments;

/** Characters of arguments, and of a schema, at most. */
const MAX_ARGUMENTS = 256 * 1024;
const MAX_SCHEMA = 128 * 1024;
/** Compiled schemas that are kept. */
const MAX_COMPILED = 500;
/** Problems that are reported to the model at most. */
const MAX_REPORTED = 8;

/**
 * Makes a check that compiles each schema once. Schemas of MCP servers are not trusted: their regular expressions,
 * which could take for ever, are not tried, a schema that takes too long is not enforced (the server checks its
 * arguments itself), and no schema shares a compiler with another.
 */
export function createArgumentCheck(): ArgumentCheck {
  const compiled = recentMap<SchemaCheck>(MAX_COMPILED);
  // Most sources give the same objects again and again: no need to serialize the schema to find it.
  const known = new WeakMap<ParameterSchema, SchemaCheck>();

  function checkOf({ ref, parameters }: Pick<Tool, 'ref' | 'parameters'>): SchemaCheck {
    const found = known.get(parameters);
    if (found !== undefined) return found;
    const text = JSON.stringify(parameters);
    if (text.length > MAX_SCHEMA) throw new Error('The schema is too large.');
    const untrusted = ref.startsWith('mcp://');
    const key = `${untrusted} ${text}`;
    const { $schema: _, $id: __, ...schema } = parameters;
    // Formats are notes to the model.
    const check = compiled.get(key) ?? compileAnyDraft(schema, { all: true, formats: false, untrusted });
    compiled.set(key, check);
    known.set(parameters, check);
    return check;
  }

  return (tool, text) => {
    if (text.length > MAX_ARGUMENTS) return { problems: ['The arguments are too long.'] };
    const input = text.trim() === '' ? {} : jsonIn(text);
    if (input === undefined) return { problems: ['The arguments are not valid JSON.'] };
    if (!isJsonObject(input)) return { problems: ['The arguments must be a JSON object.'] };
    try {
      const errors = checkOf(tool)(input);
      return errors.length === 0 ? { input } : { problems: errors.slice(0, MAX_REPORTED).map(describe) };
    } catch {
      return { problems: ['The tool cannot be called: its schema is unusable.'] };
    }
  };
}

/**
 * The check of a schema of the newest draft or of draft 7, in which many servers write their tuples (a list as
 * `items`); few say which one it is.
 */
function compileAnyDraft(schema: object, options: SchemaOptions): SchemaCheck {
  let check = compileSchema(schema, { ...options, draft: '2020-12' });
  let isOlder = false;
  return (value) => {
    try {
      return check(value);
    } catch (error) {
      if (isOlder) throw error;
      isOlder = true;
      check = compileSchema(schema, options);
      return check(value);
    }
  };
}

function describe({ instancePath, message = 'is not valid', params }: SchemaError): string {
  const extra = 'additionalProperty' in params ? ` (${String(params.additionalProperty).slice(0, 100)})` : '';
  const allowed = 'allowedValues' in params ? `: ${JSON.stringify(params.allowedValues).slice(0, 300)}` : '';
  return `${instancePath === '' ? 'The arguments' : instancePath} ${message}${extra}${allowed}`;
}
