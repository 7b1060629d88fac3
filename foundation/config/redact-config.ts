import { createHash, scryptSync } from 'node:crypto';
import type { TSchema } from 'typebox';
import { annotationOf, membersOf } from './field-annotation.ts';
import { fieldCodecs, isMapping } from './field-codec.ts';

/** What stands where a secret is set. */
export const REDACTED = '***';

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
