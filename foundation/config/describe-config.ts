import { type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { TSchema } from 'typebox';
import { isJsonObject } from '../base/json-object.ts';
import { annotationOf, membersOf } from './field.ts';
import { choicesOf, type FieldAnnotation } from './field-codec.ts';

/** One setting as the documentation shows it. */
export interface SettingDescription {
  /** The variable, when it has one. */
  readonly env?: string;
  /** Its place below the configuration (`retry.max_attempts`). */
  readonly key: string;
  readonly kind: string;
  readonly description: string;
  /** The default as one would write it, or what happens without one. */
  readonly default: string;
  /** False where `default` says what happens without a value. */
  readonly hasDefault: boolean;
  readonly secret: boolean;
}

/** All settings of a configuration schema, in the order of their declaration. */
export function describeConfig(schema: TSchema): SettingDescription[] {
  return membersOf(schema).flatMap(([key, member]) => {
    const annotation = annotationOf(member);
    if (annotation !== undefined) return [describeField(key, annotation)];
    return describeConfig(member).map((row) => ({ ...row, key: `${key}.${row.key}` }));
  });
}

function describeField(key: string, annotation: FieldAnnotation): SettingDescription {
  const { env, kind, description, secret, choices } = annotation;
  return {
    env,
    key,
    kind: choices === undefined ? kind : choicesOf(annotation).join(' | '),
    description,
    default: defaultText(annotation),
    hasDefault: annotation.default !== undefined && !isEmptyList(annotation.default),
    secret: secret === true,
  };
}

function defaultText({ kind, default: value, unset }: FieldAnnotation): string {
  if (value === undefined || isEmptyList(value)) return unset ?? 'none';
  if (Array.isArray(value)) return value.join(kind === 'folders' ? ':' : ',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

const deriveKey = promisify(scrypt) as (
  password: string,
  salt: string,
  length: number,
  options: ScryptOptions,
) => Promise<Buffer>;

/** About 20 ms, in a thread of Node's. */
const SCRYPT = { N: 8192, r: 8, p: 1 };

/**
 * Twelve hexadecimal digits that are equal on all replicas with the same configuration and change with every member,
 * secrets included: so it goes through scrypt, and a report of the hash is of little use for guessing them.
 *
 * @param config as `readConfig` gives it
 */
export async function configHash(config: unknown): Promise<string> {
  const digest = await deriveKey(JSON.stringify(sorted(config)), 'agent-gateway', 6, SCRYPT);
  return digest.toString('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
