import type { PersonalDataRequest, PersonalRecord, PersonalSection } from 'agent-gateway';

/** Characters that are collected before they are yielded. */
const CHUNK = 64 * 1024;

/** A section of the document, from all that contribute to it. */
export interface DocumentSection {
  readonly name: string;
  readonly parts: readonly PersonalSection[];
}

/**
 * An export as JSON text, piece by piece: one object, with the members of `head`, an array for each section, one record
 * a line, and at its end `"complete":true`. It holds one record at a time in memory, and one item at a time of a
 * record's own arrays. An error of a section is thrown, so a document without its end has failed. Throws the reason of
 * the request's signal when it aborts.
 */
export async function* exportDocument(
  head: Readonly<Record<string, unknown>>,
  sections: readonly DocumentSection[],
  request: PersonalDataRequest,
): AsyncGenerator<string, void> {
  let text = '';
  for await (const piece of pieces(head, sections, request)) {
    request.signal.throwIfAborted();
    text += piece;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}

async function* pieces(
  head: Readonly<Record<string, unknown>>,
  sections: readonly DocumentSection[],
  request: PersonalDataRequest,
): AsyncGenerator<string> {
  yield '{';
  for (const [name, value] of Object.entries(head))
    yield `${JSON.stringify(name)}:${JSON.stringify(value)},\n`;
  for (const { name, parts } of sections) {
    yield `${JSON.stringify(name)}:[`;
    yield* items(recordsOf(parts, request));
    // When the caller has disconnected, a section ends early and without an error.
    request.signal.throwIfAborted();
    yield '],\n';
  }
  yield '"complete":true}\n';
}

async function* recordsOf(parts: readonly PersonalSection[], request: PersonalDataRequest) {
  for (const part of parts) yield* part.read(request);
}

async function* items(records: AsyncIterable<PersonalRecord>): AsyncGenerator<string> {
  let separator = '\n';
  for await (const record of records) {
    yield separator;
    yield* written(record);
    separator = ',\n';
  }
}

/** Writes a record; members that are iterables become arrays at its end. */
async function* written(record: PersonalRecord): AsyncGenerator<string> {
  const members = Object.entries(record);
  const nested = members.filter(([, value]) => isIterable(value));
  if (nested.length === 0) {
    yield JSON.stringify(record);
    return;
  }
  const own = JSON.stringify(Object.fromEntries(members.filter(([, value]) => !isIterable(value))));
  yield own.slice(0, -1);
  let separator = own === '{}' ? '' : ',';
  for (const [name, value] of nested) {
    yield `${separator}${JSON.stringify(name)}:[`;
    yield* items(value as AsyncIterable<PersonalRecord>);
    yield ']';
    separator = ',';
  }
  yield '}';
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
