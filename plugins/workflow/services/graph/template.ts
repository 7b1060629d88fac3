import type { Json } from '../../contract/graph.ts';
import type { RunData } from './compiled-graph.ts';
import { GRAPH_LIMITS } from './graph-schema.ts';
import { readPath } from './json.ts';

/** A text with references in it, read once and filled in often. */
export interface Template {
  /** Texts and references, in order. */
  readonly parts: readonly (string | Reference)[];
  /** What stands in braces and is no reference; the first 50. It stays as it is when the template is filled in. */
  readonly faults: readonly TemplateFault[];
}

/** Something in braces that is no reference. */
interface TemplateFault extends ReferenceFault {
  /** With its braces. */
  readonly expression: string;
}

/** Faults of one text that are kept. */
const MAX_FAULTS = 50;

const OPEN = '{{';
const CLOSE = '}}';

/**
 * Reads the references `{{input.a}}` of a text; spaces inside the braces are fine. Braces that are never closed are
 * text, and so are all that follow. There is no way to write literal `{{x}}`: put it into the input, what is inserted
 * is never scanned.
 */
export function parseTemplate(text: string): Template {
  const parts: (string | Reference)[] = [];
  const faults: TemplateFault[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf(OPEN, from);
    const close = open === -1 ? -1 : text.indexOf(CLOSE, open + OPEN.length);
    if (close === -1) break;
    const end = close + CLOSE.length;
    const parsed = parseReference(text.slice(open + OPEN.length, close));
    if (isFault(parsed)) {
      if (faults.length < MAX_FAULTS) faults.push({ ...parsed, expression: text.slice(open, end) });
      addText(parts, text.slice(from, end));
    } else {
      addText(parts, text.slice(from, open));
      parts.push(parsed);
    }
    from = end;
  }
  addText(parts, text.slice(from));
  return { parts, faults };
}

/** The reference that the whole text is, without anything around it; `undefined` for other texts. */
export function wholeReference({ parts }: Template): Reference | undefined {
  const [only] = parts;
  return parts.length === 1 && typeof only === 'object' ? only : undefined;
}

/** True for a text without anything to fill in, faulty braces included. */
export function isLiteral({ parts, faults }: Template): boolean {
  return faults.length === 0 && parts.every((part) => typeof part === 'string');
}

function addText(parts: (string | Reference)[], text: string): void {
  if (text === '') return;
  const last = parts.at(-1);
  if (typeof last === 'string') parts[parts.length - 1] = last + text;
  else parts.push(text);
}

/** Where in the data of a run a condition or a template looks. */
export interface Reference {
  /** As written, without spaces around it. */
  readonly text: string;
  readonly root: 'input' | 'variables' | 'steps';
  /** Of `steps`: the node whose output it is. */
  readonly node: string | undefined;
  /** From the input, the variables or the output on. Empty: the whole output. */
  readonly path: readonly string[];
}

/** Why a text is no reference; `message` goes on after the text in quotation marks. */
interface ReferenceFault {
  readonly rule: 'path' | 'path-depth';
  readonly message: string;
}

const FORMS = 'input.<field>, variables.<key> or steps.<node id>.output.<field>';
const MEANT: Readonly<Record<string, string>> = {
  inputs: 'input',
  variable: 'variables',
  vars: 'variables',
  var: 'variables',
  step: 'steps',
  nodes: 'steps',
};

/**
 * Reads `input.<field>`, `variables.<key>` or `steps.<node id>.output.<field>`, nested further by dots (specification
 * 2, Edge); `steps.<node id>.output` is the whole output. A name may hold anything but dots, braces, brackets, `|`,
 * control characters, and spaces at its ends.
 */
export function parseReference(written: string): Reference | ReferenceFault {
  const text = written.trim();
  if (text === '') return fault(`is empty. Write ${FORMS}.`);
  if (text.length > GRAPH_LIMITS.pathLength) {
    return fault(`is longer than ${GRAPH_LIMITS.pathLength} characters.`);
  }
  const names = text.split('.');
  if (names.length > GRAPH_LIMITS.pathDepth) {
    return fault(`has ${names.length} names. A path may have ${GRAPH_LIMITS.pathDepth}.`, 'path-depth');
  }
  const [root = '', ...path] = names;
  if (root !== 'input' && root !== 'variables' && root !== 'steps') return unknownRoot(root);
  if (names.some((name) => UNFIT.test(name))) {
    return fault(
      'has a name between its dots that is empty or has spaces around it, braces, brackets or a |. Elements are list.0; there are no filters.',
    );
  }
  if (root === 'steps') return stepReference(text, path);
  if (path.length === 0)
    return fault(`names no field. Write ${root}.<${root === 'input' ? 'field' : 'key'}>.`);
  return { text, root, node: undefined, path };
}

/** Whether `parseReference` could not read the text. */
export function isFault(parsed: Reference | ReferenceFault): parsed is ReferenceFault {
  return 'rule' in parsed;
}

/** What the reference leads to; `undefined` when there is nothing. */
export function readReference({ root, node, path }: Reference, data: RunData): Json | undefined {
  const start = node === undefined ? data[root as 'input' | 'variables'] : data.output(node);
  return start === undefined ? undefined : readPath(start, path);
}

function stepReference(text: string, [node, output, ...path]: readonly string[]): Reference | ReferenceFault {
  if (node === undefined) return fault('names no node. Write steps.<node id>.output.<field>.');
  if (output !== 'output') {
    return fault(`needs "output" after the node: steps.${node}.output.<field>.`);
  }
  return { text, root: 'steps', node, path };
}

function unknownRoot(root: string): ReferenceFault {
  const meant = Object.hasOwn(MEANT, root.toLowerCase()) ? MEANT[root.toLowerCase()] : undefined;
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  return fault(`leads nowhere: a path begins with ${FORMS}.${hint}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const UNFIT = /^$|^\s|\s$|[{}[\]|\u0000-\u001f\u007f]/;

function fault(message: string, rule: ReferenceFault['rule'] = 'path'): ReferenceFault {
  return { rule, message };
}
