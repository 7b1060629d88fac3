import { isJsonObject } from 'agent-gateway';
import type { Json, JsonObject } from '../../contract/graph.ts';
import type { TemplateMode } from '../../contract/node-types.ts';
import type { Filled, RunData } from './compiled-graph.ts';
import { GRAPH_LIMITS, MAX_INSERTED } from './graph-schema.ts';
import { parseTemplate, type Reference, readReference, type Template, wholeReference } from './template.ts';

/** How members of a configuration are filled in; those not named are `text`. */
export type TemplateModes = Readonly<Record<string, TemplateMode>>;

/** Fills a configuration in with the data of a run. */
export type Fill = (data: RunData) => Filled;

/** Part of a configuration, ready to be filled in. */
type Part = (insertion: Insertion) => Json;

/**
 * Reads the templates of a configuration once, to fill them in often (decisions 2.2). Values are filled in at any
 * depth, names of members never. A text that is exactly one reference becomes what it leads to, with its JSON type;
 * elsewhere text is inserted, once, and never scanned again. In mode `url` what is inserted is percent-encoded; a URL
 * that is exactly one reference is a whole URL from the data and stays as it is. Inherited members do not count,
 * neither in the configuration nor in the data. Throws for configurations of more than `GRAPH_LIMITS.jsonDepth` levels.
 */
export function createFill(config: JsonObject, modes: TemplateModes): Fill {
  const parts = Object.entries(config).map(([name, value]) => {
    const mode = (Object.hasOwn(modes, name) ? modes[name] : undefined) ?? 'text';
    return [name, readPart(value, mode, 1)] as const;
  });
  return (data) => {
    const insertion = createInsertion(data);
    const input = Object.fromEntries(parts.map(([name, part]) => [name, part(insertion)]));
    const missing = insertion.missing();
    return insertion.isTooLarge() ? { input: {}, missing, failure: TOO_LARGE } : { input, missing };
  };
}

const TOO_LARGE = {
  code: 'input_too_large',
  message:
    'The configuration became too large when its templates were filled in. Refer to single fields instead of whole outputs.',
};

function readPart(value: Json, mode: TemplateMode, depth: number): Part {
  if (depth > GRAPH_LIMITS.jsonDepth) throw new Error('The configuration of a node is nested too deeply.');
  if (mode === 'none') return () => value;
  if (typeof value === 'string') return readText(value, mode);
  if (Array.isArray(value)) {
    const parts = (value as readonly Json[]).map((element) => readPart(element, mode, depth + 1));
    return (insertion) => parts.map((part) => part(insertion));
  }
  if (!isJsonObject(value)) return () => value;
  const parts = Object.entries(value).map(
    ([name, member]) => [name, readPart(member, mode, depth + 1)] as const,
  );
  // Not by assignment: that of `__proto__` would set a prototype.
  return (insertion) => Object.fromEntries(parts.map(([name, part]) => [name, part(insertion)]));
}

function readText(text: string, mode: Exclude<TemplateMode, 'none'>): Part {
  const template = parseTemplate(text);
  const whole = wholeReference(template);
  if (whole !== undefined) return (insertion) => insertion.value(whole);
  if (template.parts.every((part) => typeof part === 'string')) return () => text;
  return (insertion) => fillText(template, mode, insertion);
}

function fillText({ parts }: Template, mode: 'text' | 'url', insertion: Insertion): string {
  let filled = '';
  for (const part of parts) filled += typeof part === 'string' ? part : insertion.text(part, mode);
  return filled;
}

type Insertion = ReturnType<typeof createInsertion>;

/** What templates of one configuration take out of a run's data while it is filled in. */
function createInsertion(data: RunData) {
  const missing = new Set<string>();
  const texts = new Map<string, string>();
  let left = MAX_INSERTED;

  function found(reference: Reference): Json {
    const value = readReference(reference, data);
    if (value === undefined) missing.add(reference.text);
    return value === undefined ? '' : value;
  }

  /** A configuration names the same output many times: it is written out once. */
  function textOf(reference: Reference): string {
    const known = texts.get(reference.text);
    if (known !== undefined) return known;
    const text = jsonText(found(reference));
    texts.set(reference.text, text ?? '');
    if (text === undefined) left = -1;
    return text ?? '';
  }

  /** The value as text: strings as they are, everything else as JSON; in a URL percent-encoded for one place in it. */
  function text(reference: Reference, mode: 'text' | 'url'): string {
    if (left < 0) return '';
    const known = textOf(reference);
    const inserted = mode === 'url' ? encodePart(known) : known;
    left -= inserted.length;
    return left < 0 ? '' : inserted;
  }

  return {
    text,
    /** The value as it is, with its JSON type; an empty text where there is none. */
    value(reference: Reference): Json {
      text(reference, 'text');
      return left < 0 ? '' : found(reference);
    },
    /** References that led nowhere, each once. */
    missing: (): readonly string[] => [...missing],
    /** More was asked for than may be inserted; what was given since then is empty. */
    isTooLarge: () => left < 0,
  };
}

/** `undefined` for what is nested too deeply to be written out. */
function jsonText(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Encodes a value so that it stays within its part of a URL. A value of one or two dots would be read as a step in the
 * path, also where it is encoded (WHATWG URL, single-dot and double-dot path segment); its dots are encoded twice, so
 * that it stays one odd segment.
 */
function encodePart(text: string): string {
  if (text === '.' || text === '..') return text.replaceAll('.', '%252E');
  return encodeURIComponent(text.toWellFormed());
}
