import { isFault, parseReference, type Reference, type ReferenceFault } from './reference.ts';

/** A text with references in it, read once and filled in often. */
export interface Template {
  /** Texts and references, in order. */
  readonly parts: readonly (string | Reference)[];
  /** What stands in braces and is no reference; the first 50. It stays as it is when the template is filled in. */
  readonly faults: readonly TemplateFault[];
}

/** Something in braces that is no reference. */
export interface TemplateFault extends ReferenceFault {
  /** With its braces. */
  readonly expression: string;
}

/** Faults of one text that are kept. */
const MAX_FAULTS = 50;

const OPEN = '{{';
const CLOSE = '}}';

/**
 * Reads the references `{{input.a}}` of a text; spaces inside the braces are fine. Braces that are never closed are text, and so are all that
 * follow. There is no way to write literal `{{x}}`: put it into the input, what is inserted is never scanned.
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
