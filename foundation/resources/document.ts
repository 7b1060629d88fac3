import { createHash } from 'node:crypto';
import { pointerPath } from '../base/json-pointer.ts';
import { readYaml, type YamlReading } from '../config/yaml-source.ts';
import { type Header, readHeader, type UnreadDocument } from './header.ts';
import type { ResourceProblem } from './kind.ts';
import type { LocatedProblem } from './problem.ts';

/**
 * One YAML document, understood as far as it is the same for all kinds. Immutable; the same object as long as its file
 * is the same.
 */
export interface SourceDocument {
  readonly file: string;
  /** Of its first key, from 1. */
  readonly line: number;
  /** As it stands in the file, without its marker line. */
  readonly text: string;
  /** Undefined when the document does not say what it declares. */
  readonly id: string | undefined;
  /** Absent when there are problems. */
  readonly header: Header | undefined;
  /** What a document with a bad header holds, where its kind can be read. */
  readonly unread: UnreadDocument | undefined;
  /** Changes when the content does; comments, quoting and indentation are no content. */
  readonly hash: string;
  readonly problems: readonly LocatedProblem[];
  /** Gives problems their lines. */
  locate(problems: readonly ResourceProblem[]): readonly LocatedProblem[];
}

/** A file of agents.d as it was read. */
export interface SourceFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly documents: readonly SourceDocument[];
  /** Why it, or the folder at this path, could not be read; empty when it could. */
  readonly problems: readonly LocatedProblem[];
}

/** Understands the text of a file. */
export function parseSourceFile(path: string, text: string): SourceFile {
  // An editor that empties a file before it writes it means no deletion, and a look may come between the two.
  if (text.trim() === '') return unreadable(path, 'is empty; delete it to remove what it held');
  return {
    path,
    documents: splitDocuments(text).map((part) => readDocument(path, part.text, part.linesBefore)),
    problems: [],
  };
}

/** A file, or a folder with all that was below it, that could not be read. */
export function unreadable(path: string, reason: string): SourceFile {
  return { path, documents: [], problems: [{ file: path, pointer: '', message: reason }] };
}

function readDocument(file: string, text: string, linesBefore: number): SourceDocument {
  const { value, faults, placeOf } = readYaml(text);
  const leadingLines = text.split('\n').findIndex((line) => !EMPTY_LINE.test(line));
  const firstLine = linesBefore + Math.max(0, leadingLines) + 1;
  // Where every document waits for its plugin, at each start.
  const kindPlace = placeOf(['kind']);
  // Parsed once more, for the rare document with a problem, instead of keeping the syntax trees of all.
  const locate = (found: readonly ResourceProblem[]) => {
    let again: YamlReading | undefined;
    return found.map(({ pointer, message }): LocatedProblem => {
      again ??= pointer === '/kind' ? undefined : readYaml(text);
      const place = pointer === '/kind' ? kindPlace : again?.placeOf(pointerPath(pointer));
      if (place === undefined) return { file, line: firstLine, column: 1, pointer, message };
      return { file, line: place.line + linesBefore, column: place.column, pointer, message };
    });
  };
  const hash = createHash('sha256')
    .update(JSON.stringify(value ?? text))
    .digest('base64');
  const common = { file, line: firstLine, text: text.replace(/^---[ \t]*\r?\n/, ''), hash, locate };
  if (faults.length > 0) {
    const problems = faults.map(({ line, column, message }) => ({
      file,
      line: line + linesBefore,
      column,
      pointer: '',
      message,
    }));
    return { ...common, id: undefined, header: undefined, unread: undefined, problems };
  }
  const { problems, ...reading } = readHeader(value);
  return { ...common, ...reading, problems: locate(problems) };
}

/** One document of a YAML stream. */
interface DocumentText {
  /** With its `---` line. */
  readonly text: string;
  /** Lines of the stream before it. */
  readonly linesBefore: number;
}

/**
 * Splits a YAML stream into its documents, without those that hold nothing but comments. A line that begins with `---`
 * or `...` separates wherever it stands: YAML allows it in no string (YAML 1.2.2, `c-forbidden`). So a document that is
 * broken, by a quote that is never closed for instance, breaks no other.
 */
export function splitDocuments(stream: string): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  let startLine = 0;
  let line = 0;
  const end = (at: number) => {
    const text = stream.slice(start, at);
    if (hasContent(text)) documents.push({ text, linesBefore: startLine });
    start = at;
    startLine = line;
  };
  for (let at = 0; at < stream.length; line += 1) {
    const next = stream.indexOf('\n', at);
    const after = next < 0 ? stream.length : next + 1;
    const marker = stream.slice(at, at + 3);
    if ((marker === '---' || marker === '...') && /^\s?$/.test(stream.slice(at + 3, at + 4))) {
      end(at);
      // What follows an end marker begins a document without a marker of its own.
      if (marker === '...') {
        start = after;
        startLine = line + 1;
      }
    }
    at = after;
  }
  end(stream.length);
  return documents;
}

/** False for blank lines, comments, directives and a bare marker: `%YAML 1.2` before a marker is no document. */
function hasContent(text: string): boolean {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .some((line) => !EMPTY_LINE.test(line) && !line.startsWith('%'));
}

/** Blank, a comment, or a bare marker. */
const EMPTY_LINE = /^(?:---)?\s*(?:#.*)?$/;
