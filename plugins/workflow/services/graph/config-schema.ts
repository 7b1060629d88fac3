import { compileSchema, isJsonObject, pointerPath, type SchemaError } from 'agent-gateway';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../contract/graph.ts';
import type { GraphRule } from './graph-schema.ts';
import { ownMember, pointerTo } from './json.ts';
import type { Suggest } from './problems.ts';

/** Something that a schema refuses. */
interface SchemaProblem {
  readonly rule: Extract<GraphRule, 'config-missing' | 'config-unknown' | 'config-invalid'>;
  /** Relative to the value. */
  readonly pointer: string;
  /** Goes on after the name of the member. */
  readonly message: string;
}

/** Problems of one value that are reported. */
const MAX_REPORTED = 50;
/** Errors that are looked at: they are compared with one another. */
const MAX_READ = 500;

/**
 * What a schema says of a value, one problem for each member. Throws for a schema that is no valid JSON Schema.
 *
 * @param checkedElsewhere members that the value may have beside those of the schema; messages list them too
 */
export function schemaProblems(
  schema: TSchema,
  value: JsonObject,
  suggest: Suggest,
  checkedElsewhere: readonly string[] = [],
): readonly SchemaProblem[] {
  const byPointer = new Map<string, SchemaProblem>();
  for (const error of schemaErrors(schema, value).errors) {
    if (byPointer.size === MAX_REPORTED) break;
    const problem = describe(error, suggest, error.instancePath === '' ? checkedElsewhere : []);
    if (!byPointer.has(problem.pointer)) byPointer.set(problem.pointer, problem);
  }
  return [...byPointer.values()];
}

/**
 * The errors that Ajv reports for a value, without those about alternatives that it does not match. `isCut`: there are
 * more, which are not read.
 */
function schemaErrors(
  schema: TSchema,
  value: JsonObject,
): { readonly errors: readonly SchemaError[]; readonly isCut: boolean } {
  const errors = compileSchema(schema, { draft: '2020-12', all: true })(value);
  return { errors: withoutBranches(errors.slice(0, MAX_READ)), isCut: errors.length > MAX_READ };
}

/** A value that matches none of several alternatives fails each of them: the error that it matches none is enough. */
function withoutBranches(errors: readonly SchemaError[]): readonly SchemaError[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  return errors.filter((error) =>
    choices.every(
      (choice) =>
        !error.schemaPath.startsWith(`${choice.schemaPath}/`) ||
        !error.instancePath.startsWith(choice.instancePath),
    ),
  );
}

function describe(error: SchemaError, suggest: Suggest, alsoKnown: readonly string[]): SchemaProblem {
  const { instancePath, parentSchema } = error;
  const { missing, extra } = memberOf(error);
  if (missing !== undefined) {
    const pointer = instancePath + pointerTo(missing);
    return { rule: 'config-missing', pointer, message: 'is missing.' };
  }
  if (extra === undefined) {
    return { rule: 'config-invalid', pointer: instancePath, message: `${messageOf(error)}.` };
  }
  const known = [...Object.keys((parentSchema?.properties as object | undefined) ?? {}), ...alsoKnown];
  const listed = known.length === 0 ? '' : ` Known are ${known.join(', ')}.`;
  return {
    rule: 'config-unknown',
    pointer: instancePath + pointerTo(extra),
    message: `is not known.${suggest(extra, known)}${listed}`,
  };
}

/** The member of the value at `instancePath` that an error is about, where it is not about that value. */
function memberOf({ params }: SchemaError): {
  readonly missing: string | undefined;
  readonly extra: string | undefined;
} {
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Record<
    string,
    string | undefined
  >;
  return { missing: missingProperty, extra: additionalProperty ?? unevaluatedProperty };
}

function messageOf({ keyword, params, parentSchema, message }: SchemaError): string {
  const given = (parentSchema as { patternErrorMessage?: string } | undefined)?.patternErrorMessage;
  if (keyword === 'pattern' && given !== undefined) return given;
  if (keyword === 'minLength' && params.limit === 1) return 'must not be empty';
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  if (keyword === 'anyOf' || keyword === 'oneOf') return 'has none of the allowed forms';
  if (keyword === 'enum') {
    return `must be one of ${(params.allowedValues as unknown[]).map((allowed) => JSON.stringify(allowed)).join(', ')}`;
  }
  return message ?? 'is not valid';
}

/** As much of a configuration as can be looked at further. */
export interface UsableConfig {
  readonly config: JsonObject;
  /**
   * Pointers to what is not in it: members that the schema refused, and required members that are missing. Empty for a
   * configuration without faults.
   */
  readonly without: readonly string[];
}

/** Rounds of removing members: without a member, the object around it may no longer match the schema. */
const MAX_ROUNDS = 4;

/**
 * The configuration without the members that its schema refuses: what is left has the types that the schema promises,
 * only that members of its first level may be missing. Elements of arrays are not removed alone, since indexes would
 * shift: the whole array is removed. `undefined` if the schema refuses the configuration as a whole, or so much of it
 * that a further check is not worth the time.
 */
export function usableConfig(schema: TSchema, given: JsonObject): UsableConfig | undefined {
  const without = new Set<string>();
  let config = given;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const { errors, isCut } = schemaErrors(schema, config);
    if (isCut) return undefined;
    const faulty: (readonly string[])[] = [];
    for (const error of errors) {
      const missing = error.instancePath === '' ? memberOf(error).missing : undefined;
      const path = missing === undefined ? faultyPath(error, config) : [missing];
      if (path.length === 0) return undefined;
      if (missing === undefined) faulty.push(path);
      without.add(pointerTo(...path));
    }
    if (faulty.length === 0) return { config, without: [...without] };
    config = withoutMembers(config, faulty) as JsonObject;
  }
  return undefined;
}

/** The path, from the configuration, to the member that has to be removed. */
function faultyPath(error: SchemaError, config: JsonObject): readonly string[] {
  const { extra } = memberOf(error);
  const path = [...pointerPath(error.instancePath), ...(extra === undefined ? [] : [extra])];
  let value: unknown = config;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value)) return path.slice(0, depth);
    value = isJsonObject(value) ? ownMember(value, name) : undefined;
  }
  return path;
}

/** All at once: an object with many faults is copied once. */
function withoutMembers(value: Json, paths: readonly (readonly string[])[]): Json {
  if (!isJsonObject(value)) return value;
  const inside = new Map<string, (readonly string[])[]>();
  const gone = new Set<string>();
  for (const [name = '', ...rest] of paths) {
    if (rest.length === 0) gone.add(name);
    else inside.set(name, (inside.get(name) ?? []).concat([rest]));
  }
  const left = Object.entries(value).filter(([name]) => !gone.has(name));
  // Not by assignment, which would set a prototype for `__proto__`.
  return Object.fromEntries(
    left.map(([name, member]) => {
      const deeper = inside.get(name);
      return [name, deeper === undefined ? member : withoutMembers(member, deeper)];
    }),
  );
}
