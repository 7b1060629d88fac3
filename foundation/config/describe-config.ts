import { createHash, scryptSync } from 'node:crypto';
import type { TSchema } from 'typebox';
import { annotationOf, type FieldAnnotation, membersOf } from './field.ts';
import { choicesOf, fieldCodecs, isMapping } from './field-codec.ts';

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

/** What stands where a secret is set. */
const REDACTED = '***';

/** A configuration as an operator may see it: in the form of the file, secrets as `***`, members without a value left out. */
export function redactConfig(schema: TSchema, value: unknown): Record<string, unknown> {
  return writeConfig(schema, value, '', () => REDACTED);
}

/**
 * Twelve hexadecimal digits that are equal on all replicas with the same configuration and change with every member,
 * secrets included. Secrets go in through scrypt, so that a report of the hash is of little use for guessing them.
 */
export function configHash(schema: TSchema, value: unknown): string {
  const digest = (secret: unknown, place: string) =>
    scryptSync(JSON.stringify(secret), `agent-gateway ${place}`, 32, SCRYPT).toString('base64');
  const written = JSON.stringify(sorted(writeConfig(schema, value, '', digest)));
  return createHash('sha256').update(written).digest('hex').slice(0, 12);
}

// About 20 ms for each secret, once for each start of a plugin.
const SCRYPT = { N: 8192, r: 8, p: 1 };

function writeConfig(
  schema: TSchema,
  value: unknown,
  place: string,
  hide: (secret: unknown, place: string) => string,
): Record<string, unknown> {
  const given = isMapping(value) ? value : {};
  const result: Record<string, unknown> = {};
  for (const [key, member] of membersOf(schema)) {
    const current = given[key];
    if (current === undefined) continue;
    const annotation = annotationOf(member);
    if (annotation === undefined) result[key] = writeConfig(member, current, `${place}.${key}`, hide);
    else if (annotation.secret) result[key] = hide(current, `${place}.${key}`);
    else
      result[key] = hideUserInfo(fieldCodecs[annotation.kind].toFile(current), (text) =>
        hide(text, `${place}.${key}`),
      );
  }
  return result;
}

/** A URL that is not declared a secret may still carry a password. */
function hideUserInfo(value: unknown, hide: (userInfo: string) => string): unknown {
  if (typeof value !== 'string') return value;
  return value.replace(/\/\/(.*)@/s, (_whole, userInfo: string) => `//${hide(userInfo)}@`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
