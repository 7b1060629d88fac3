import type { ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../contract/graph.ts';
import { memberOf, schemaErrors } from './config-schema.ts';
import { isObject, ownMember } from './json-object.ts';
import { pathOf, pointerTo } from './json-pointer.ts';

/** As much of a configuration as can be looked at further. */
export interface UsableConfig {
  readonly config: JsonObject;
  /** Pointers to what is not in it: members that the schema refused, and those that it asks for in vain. Empty for a configuration without faults. */
  readonly without: readonly string[];
}

/** Times that members are taken out: without one, the object around it may not be what the schema wants any more. */
const MAX_ROUNDS = 4;

/**
 * The configuration without the members that its schema refuses: what is left has the types that the schema promises, only that members of its first
 * level may be missing. Elements of arrays are not taken out alone, since places would shift: the array goes. `undefined` where the schema refuses the
 * configuration as a whole, or so much of it that it is not worth the time.
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

/** Names from the configuration to what has to go. */
function faultyPath(error: ErrorObject, config: JsonObject): readonly string[] {
  const { extra } = memberOf(error);
  const path = [...pathOf(error.instancePath), ...(extra === undefined ? [] : [extra])];
  let value: unknown = config;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value)) return path.slice(0, depth);
    value = isObject(value) ? ownMember(value, name) : undefined;
  }
  return path;
}

/** All at once: an object with many faults is copied once. */
function withoutMembers(value: Json, paths: readonly (readonly string[])[]): Json {
  if (!isObject(value)) return value;
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
