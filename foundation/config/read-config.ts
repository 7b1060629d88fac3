import type { Static, TSchema } from 'typebox';
import { isJsonObject } from '../base/json-object.ts';
import { didYouMean } from '../base/nearest-name.ts';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import { annotationOf, membersOf } from './field.ts';
import { type Decoded, decodeText, decodeValue, type FieldAnnotation } from './field-codec.ts';

/** A line of a file. */
export interface SourcePlace {
  readonly file: string;
  /** From 1; absent when the place has no line of its own. */
  readonly line?: number;
}

/** Where a configuration comes from. A variable wins over the file, the file over the default. */
export interface ConfigSources {
  readonly env: Environment;
  /** What the YAML file holds for it; absent or null means nothing. */
  readonly file?: unknown;
  /** Where it stands in the file (`plugins.workflow.config`), for messages. */
  readonly at?: string;
  /** The line of a member of `file`, for messages; the path starts below `at`. */
  readonly locate?: (path: readonly string[]) => SourcePlace | undefined;
}

/** What came out of reading: members with a problem are missing from `value`. */
interface DecodedConfig<T> {
  readonly value: Partial<T>;
  readonly problems: readonly ConfigurationProblem[];
}

/**
 * Reads a configuration: decoded, with defaults, checked, frozen. Pure: the sources are arguments.
 * Throws a ConfigurationError with everything that is wrong: values in the environment and in the file, also those that
 * another one wins over, and unknown keys. No message holds the value of a secret.
 */
export function readConfig<S extends TSchema>(schema: S, sources: ConfigSources): Static<S> {
  const { value, problems } = decodeConfig(schema, sources);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return value as Static<S>;
}

/** The values of the secret fields in what was read, as they appear in texts. */
export function secretsOf(schema: TSchema, config: unknown): readonly string[] {
  return membersOf(schema).flatMap(([name, member]) => {
    const value = (config as Readonly<Record<string, unknown>>)[name];
    const annotation = annotationOf(member);
    if (annotation === undefined) return secretsOf(member, value);
    return annotation.secret === true ? textsIn(value) : [];
  });
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Like `readConfig`, for readers that add problems of their own (rules across fields). Does not throw. */
export function decodeConfig<S extends TSchema>(schema: S, sources: ConfigSources): DecodedConfig<Static<S>> {
  const { env, at, locate } = sources;
  const problems: ConfigurationProblem[] = [];

  function refuse(path: readonly string[], message: string): void {
    const name = [at, ...path].filter((part) => part !== undefined && part !== '').join('.');
    problems.push({ name, message, ...locate?.(path) });
  }

  function decodeGroup(group: TSchema, file: unknown, path: readonly string[]): Record<string, unknown> {
    const members = membersOf(group);
    const given = mappingOf(file, path);
    const known = members.map(([name]) => name);
    for (const key of Object.keys(given)) {
      if (!known.includes(key)) refuse([...path, key], `there is no such setting${didYouMean(key, known)}`);
    }
    const result: Record<string, unknown> = {};
    for (const [key, member] of members) {
      const raw = Object.hasOwn(given, key) ? given[key] : undefined;
      const annotation = annotationOf(member);
      if (annotation === undefined) result[key] = decodeGroup(member, raw, [...path, key]);
      else {
        const decoded = decodeMember(annotation, raw, [...path, key]);
        if (!isProblem(decoded)) result[key] = deepFreeze(decoded.value);
      }
    }
    return Object.freeze(result);
  }

  function decodeMember(annotation: FieldAnnotation, raw: unknown, path: readonly string[]): Decoded {
    const text = annotation.env === undefined ? undefined : env[annotation.env];
    const fromEnvironment = text === undefined || text === '' ? undefined : decodeText(text, annotation);
    const fromFile = raw === undefined || raw === null ? undefined : decodeValue(raw, annotation);
    if (isProblem(fromEnvironment)) {
      problems.push({ name: annotation.env ?? path.at(-1)!, message: fromEnvironment.problem });
    }
    if (isProblem(fromFile)) refuse(path, fromFile.problem);
    return fromEnvironment ?? fromFile ?? decodeDefault(annotation);
  }

  function mappingOf(file: unknown, path: readonly string[]): Record<string, unknown> {
    if (file === undefined || file === null) return {};
    if (isJsonObject(file)) return file;
    refuse(path, 'must be a mapping of names to values');
    return {};
  }

  const value = decodeGroup(schema, sources.file, []);
  return { value: value as Partial<Static<S>>, problems };
}

function decodeDefault(annotation: FieldAnnotation): Decoded {
  return annotation.default === undefined
    ? { value: undefined }
    : decodeValue(annotation.default, annotation);
}

function isProblem(decoded: Decoded | undefined): decoded is Extract<Decoded, { readonly problem: string }> {
  return decoded !== undefined && 'problem' in decoded;
}

/** The value with everything in it frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** Variables by name, as a process has them. An empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of this process, as it is now. The only place that touches `process.env`; everything else gets it
 * passed. As of a secret file, one line break at the end of a value is cut: `echo key | base64` puts it into a secret
 * of Kubernetes, where nobody sees it.
 */
export function processEnvironment(): Environment {
  const entries = Object.entries(process.env).map(([name, value]) => [name, value?.replace(/\r?\n$/, '')]);
  return Object.freeze(Object.fromEntries(entries));
}
