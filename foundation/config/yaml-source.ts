import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import type { SourcePlace } from './read-config.ts';

/** A YAML text that was parsed: its plain value, and where things stand in it. */
export interface YamlSource {
  /** Null for a text without content. */
  readonly value: unknown;
  /** The same with comments and order, for changing it. */
  readonly document: Document;
  /** The line of a key, or of the nearest one around it that exists. */
  locate(path: readonly string[]): SourcePlace;
}

/** Uses of an anchor, all together, that are expanded; more is an attack or a mistake. */
const MAX_ALIASES = 100;

/** Codes whose texts are fixed words; the other messages of the parser may quote the file, which may hold secrets. */
const SPEAKING_CODES = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'TAB_AS_INDENT',
]);

/** What is wrong with a YAML text. */
export interface YamlFault {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** Quotes nothing of the text. */
  readonly message: string;
}

/** A YAML text as far as it could be read. */
export interface YamlReading {
  /** Null for a text without content; undefined when there are faults. */
  readonly value: unknown;
  readonly document: Document;
  /** Everything that is wrong; empty for a good text. */
  readonly faults: readonly YamlFault[];
  /** Where a key or list item begins, or the nearest one around it that exists; undefined when there is none. */
  placeOf(path: readonly string[]): { readonly line: number; readonly column: number } | undefined;
}

/**
 * Parses one document of YAML 1.2 (core schema, keys are strings, no merge keys, no tags). Throws a ConfigurationError
 * with file, line and reason; the reasons quote nothing of the text.
 */
export function parseYaml(file: string, text: string): YamlSource {
  const { value, document, faults, placeOf } = readYaml(text);
  if (faults.length > 0) {
    throw new ConfigurationError(
      faults.map(({ line, message }): ConfigurationProblem => ({ name: '', file, line, message })),
    );
  }
  const locate = (path: readonly string[]) => {
    const place = placeOf(path);
    return place === undefined ? { file } : { file, line: place.line };
  };
  return { value, document, locate };
}

/** Like `parseYaml`, and returns what is wrong instead of throwing it. */
export function readYaml(text: string): YamlReading {
  const lineCounter = new LineCounter();
  const document: Document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    // Its check compares each key with all others: thousands of keys would hold the process up.
    uniqueKeys: false,
    resolveKnownTags: false,
    // Not silent, which would also keep quiet about a second document.
    logLevel: 'error',
  });
  const placeAt = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    ...placeAt(fault.pos[0]),
    message: faultMessage(fault),
  }));
  for (const offset of repeatedKeys(document))
    faults.push({ ...placeAt(offset), message: 'Map keys must be unique' });
  const placeOf = (path: readonly string[]) => {
    const offset = offsetOf(document, path);
    return offset === undefined ? undefined : placeAt(offset);
  };
  if (faults.length > 0) return { value: undefined, document, faults, placeOf };
  const expanded = expand(document);
  if ('value' in expanded) return { value: expanded.value, document, faults, placeOf };
  return { value: undefined, document, faults: [{ ...placeAt(0), ...expanded }], placeOf };
}

/** Where keys begin that their mapping has already. */
function repeatedKeys(document: Document): readonly number[] {
  const repeated: number[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) repeated.push((isNode(key) && key.range?.[0]) || 0);
        seen.add(name);
      }
    },
  });
  return repeated;
}

function faultMessage({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'a second YAML document begins here';
  return SPEAKING_CODES.has(code) ? message : 'this is not valid YAML';
}

/** The plain value. Aliases are expanded within bounds, and a value that contains itself is refused. */
function expand(document: Document): { readonly value: unknown } | { readonly message: string } {
  try {
    const value = document.toJS({ maxAliasCount: MAX_ALIASES });
    // Throws a TypeError for a cycle.
    JSON.stringify(value);
    return { value };
  } catch (error) {
    // The library throws a ReferenceError for too many or unknown aliases, a RangeError for too deep nesting.
    if (!(error instanceof ReferenceError || error instanceof RangeError || error instanceof TypeError))
      throw error;
    return {
      message: `its aliases are unknown, circular, or more than ${MAX_ALIASES}, or it nests too deeply`,
    };
  }
}

/** Where the deepest existing key or item of the path begins. */
function offsetOf(document: Document, path: readonly string[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node)) {
      node = node.items[Number(key)];
      if (node === undefined) return offset;
      offset = (node as { range?: [number, number, number] | null }).range?.[0] ?? offset;
      continue;
    }
    if (!isMap(node)) return offset;
    const pair = node.items.find((item) => (item.key as { value?: unknown } | null)?.value === key);
    if (pair === undefined) return offset;
    offset = (pair.key as { range?: [number, number, number] | null }).range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
}
