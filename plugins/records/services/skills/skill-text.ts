import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type FieldError, isJsonObject } from 'agent-gateway';
import { parseDocument } from 'yaml';

/** Bytes of a SKILL.md. */
export const MAX_SKILL_BYTES = 1024 * 1024;
/** Characters of front matter, so that reading any text stays cheap. */
const MAX_FRONT_MATTER = 8 * 1024;
const MAX_DESCRIPTION = 1024;
const MAX_VERSION = 64;

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const OPENING = /^---[ \t]*\r?\n/;
const CLOSING = /^---[ \t]*\r?$/m;

/**
 * True for a name that a skill can have (decisions 1.7): it becomes part of an object's key, so nothing else is
 * accepted.
 */
export function isSkillName(name: string): boolean {
  return NAME.test(name);
}

/** The front matter of a SKILL.md. */
interface SkillHead {
  readonly description: string;
  readonly version: string;
}

/** A SKILL.md that was read, or everything that is wrong with it. */
type SkillReading =
  | { readonly head: SkillHead; readonly body: string }
  | { readonly problems: readonly FieldError[] };

/**
 * Reads a SKILL.md of the given name: front matter between two lines `---`, then the body. Front matter is YAML of
 * plain texts; unknown members are ignored. Pure, and linear in time for any input.
 */
export function readSkill(name: string, text: string): SkillReading {
  const parts = split(text);
  if (parts === undefined) {
    return unreadable(
      `the text must begin with front matter: YAML of ${MAX_FRONT_MATTER} characters at most between two lines that hold only ---`,
    );
  }
  const fields = fieldsOf(parts.yaml);
  if (fields === undefined) return unreadable('the front matter must be YAML that maps names to texts');
  const problems: FieldError[] = [];
  if (fields.name !== name) {
    problems.push({ pointer: '/body/name', message: `name in the front matter must be ${name}` });
  }
  const head = {
    description: textField('description', fields.description, MAX_DESCRIPTION, problems),
    version: textField('version', fields.version, MAX_VERSION, problems),
  };
  return problems.length > 0 ? { problems } : { head, body: parts.body };
}

/** The digest by which lists and manifests compare texts. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function split(text: string): { readonly yaml: string; readonly body: string } | undefined {
  const opening = OPENING.exec(text);
  if (opening === null) return undefined;
  const rest = text.slice(opening[0].length);
  // The line that closes lies in the part that is looked at, or the front matter is too long.
  const closing = CLOSING.exec(rest.slice(0, MAX_FRONT_MATTER));
  if (closing === null) return undefined;
  const body = rest.slice(closing.index + closing[0].length).replace(/^\r?\n/, '');
  return { yaml: rest.slice(0, closing.index), body };
}

function fieldsOf(yaml: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // Failsafe: `version: 1.10` is a text, not the number 1.1.
    const document = parseDocument(yaml, { schema: 'failsafe', prettyErrors: false, logLevel: 'silent' });
    if (document.errors.length > 0) return undefined;
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return isJsonObject(value) ? { ...value } : undefined;
  } catch {
    // An alias, or nesting deeper than the parser's stack: either way no front matter.
    return undefined;
  }
}

function textField(field: string, value: unknown, most: number, problems: FieldError[]): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '' || text.length > most) {
    problems.push({
      pointer: `/body/${field}`,
      message: `${field} in the front matter must be a text of 1 to ${most} characters`,
    });
  }
  return text;
}

function unreadable(message: string): SkillReading {
  return { problems: [{ pointer: '/body', message }] };
}

/** A skill that comes with the gateway. */
export interface BuiltinSkill extends SkillHead {
  readonly name: string;
  readonly text: string;
  /** The text without its front matter. */
  readonly body: string;
  readonly sha256: string;
}

/** What every tenant gets. */
export interface SkillCatalog {
  /** A digest of the content: a tenant whose row has this id has got all of it. */
  readonly id: string;
  /** By name. */
  readonly skills: ReadonlyMap<string, BuiltinSkill>;
  /** The default SOUL.md. */
  readonly soul: string;
}

/** Where this build keeps its skills: `<name>/SKILL.md`, and `SOUL.md`. */
export const BUILTIN_FOLDER = path.join(import.meta.dirname, '../../skills');

/**
 * Makes a catalog. The front matter is read at the first use of `skills`: many a start has none. Both throw an Error
 * naming the skill that is none: the build is wrong then.
 */
export function createCatalog(texts: ReadonlyMap<string, string>, soul: string): SkillCatalog {
  const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name] of sorted) if (!isSkillName(name)) throw new Error(`${name} is no name of a skill`);
  const id = digestOf(JSON.stringify([soul, ...sorted.map(([name, text]) => [name, digestOf(text)])]));
  let skills: ReadonlyMap<string, BuiltinSkill> | undefined;
  return {
    id,
    soul,
    get skills() {
      skills ??= new Map(sorted.map(([name, text]) => [name, builtinSkill(name, text)]));
      return skills;
    },
  };
}

function builtinSkill(name: string, text: string): BuiltinSkill {
  const reading = readSkill(name, text);
  if ('problems' in reading) {
    const reasons = reading.problems.map(({ message }) => message);
    throw new Error(`the built-in skill ${name}: ${reasons.join('; ')}`);
  }
  return { ...reading.head, name, text, body: reading.body, sha256: digestOf(text) };
}

/**
 * Reads the catalog from a folder, at once: the files are part of the code, and each start would spend five times as
 * much on reading them one by one in threads. Throws when a file cannot be read, and like `createCatalog`.
 */
export function readCatalog(folder: string): SkillCatalog {
  const read = (...file: string[]) => readFileSync(path.join(folder, ...file), 'utf8');
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return createCatalog(new Map(entries.map(({ name }) => [name, read(name, 'SKILL.md')])), read('SOUL.md'));
}

let builtin: SkillCatalog | undefined;

/**
 * The catalog of this build, which all gateways of a process share: it is read, and its front matter parsed, at the
 * first use. Its files are part of the code, and are read again with the code of a new generation. Throws like
 * `readCatalog`.
 */
export function builtinCatalog(): SkillCatalog {
  builtin ??= readCatalog(BUILTIN_FOLDER);
  return builtin;
}
