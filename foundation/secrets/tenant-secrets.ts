import path from 'node:path';
import type { SecretReference } from './secret-reference.ts';

/** What tenants may name: `SVC_TENANT_SECRETS`. */
export interface TenantSecrets {
  /** True for a reference that the operator listed. Looks at nothing but its text. */
  allows(reference: SecretReference): boolean;
}

const VARIABLE_ENTRY = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*\*?)$/;
const FILE_ENTRY = /^file:(.*)$/;

/**
 * True for an entry of `SVC_TENANT_SECRETS`: the name of a variable (`ACME_KEY`, also `env:ACME_KEY`) or the beginning of
 * names (`ACME_*`); a file in the secrets folder (`file:acme/key`) or the beginning of paths (`file:tenants/*`).
 * `file:*` is the whole folder; there is no entry for all variables.
 */
export function isTenantSecretsEntry(entry: string): boolean {
  return matcherOf(entry) !== undefined;
}

/** Reads the list. @throws TypeError naming an entry that is none. */
export function tenantSecrets(entries: readonly string[]): TenantSecrets {
  const matchers = entries.map((entry) => {
    const matcher = matcherOf(entry);
    if (matcher === undefined) throw new TypeError(`"${entry}" names no variable and no file for tenants`);
    return matcher;
  });
  return { allows: (reference) => matchers.some((matches) => matches(reference)) };
}

type Matcher = (reference: SecretReference) => boolean;

function matcherOf(entry: string): Matcher | undefined {
  const variable = VARIABLE_ENTRY.exec(entry)?.[1];
  if (variable !== undefined) {
    const matches = nameMatcher(variable);
    return (reference) => reference.kind === 'env' && matches(reference.name);
  }
  const file = FILE_ENTRY.exec(entry)?.[1];
  if (file === undefined || !isBelow(file) || path.posix.normalize(file) !== file) return undefined;
  const matches = nameMatcher(file);
  return (reference) => {
    if (reference.kind !== 'file') return false;
    const normal = path.posix.normalize(reference.path);
    return isBelow(normal) && matches(normal);
  };
}

function nameMatcher(entry: string): (name: string) => boolean {
  if (!entry.endsWith('*')) return (name) => name === entry;
  const beginning = entry.slice(0, -1);
  return (name) => name.startsWith(beginning);
}

/** True for a normal path that does not leave the folder that it starts in. A name like `..data` is no way out. */
export function isBelow(relative: string): boolean {
  return (
    relative !== '' && relative !== '..' && !relative.startsWith('../') && !path.posix.isAbsolute(relative)
  );
}
