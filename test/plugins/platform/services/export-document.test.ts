import test from 'ava';
import type { PersonalRecord, PersonalSection } from '../../../../foundation/protection/personal-data.ts';
import {
  type DocumentSection,
  exportDocument,
} from '../../../../plugins/platform/services/data-protection/export-document.ts';

const part = (records: (signal: AbortSignal) => AsyncIterable<PersonalRecord>): PersonalSection => ({
  name: 'tests',
  entities: [],
  read: ({ signal }) => records(signal),
});

async function* of(...records: readonly PersonalRecord[]): AsyncGenerator<PersonalRecord> {
  yield* records;
}

async function written(sections: readonly DocumentSection[], signal = new AbortController().signal) {
  const chunks: string[] = [];
  for await (const chunk of exportDocument({ tenant: { id: 't' } }, sections, { tenantId: 't', signal }))
    chunks.push(chunk);
  return chunks;
}

test('a document is JSON, whatever is in it', async (t) => {
  const odd = {
    text: '"\n\u0000\u2028 \ud83d',
    none: null,
    nothing: undefined,
    at: new Date(0),
    list: [1, { a: 2 }],
  };
  const nested = () => ({ id: 1, items: of({ a: 1 }, { b: of({ c: of() }, {}) }), more: of() });
  const sections: DocumentSection[] = [
    { name: 'empty', parts: [part(() => of())] },
    { name: 'none "at" all', parts: [] },
    { name: 'odd', parts: [part(() => of(odd)), part(() => of({}, { of: 'another part' }))] },
    { name: 'nested', parts: [part(() => of(nested(), { only: of({ x: 1 }) }, nested()))] },
  ];
  const document = JSON.parse((await written(sections)).join(''));
  const { nothing: _, ...kept } = odd;
  const wholeOne = { id: 1, items: [{ a: 1 }, { b: [{ c: [] }, {}] }], more: [] };
  t.deepEqual(document, {
    tenant: { id: 't' },
    empty: [],
    'none "at" all': [],
    odd: [{ ...kept, at: '1970-01-01T00:00:00.000Z' }, {}, { of: 'another part' }],
    nested: [wholeOne, { only: [{ x: 1 }] }, wholeOne],
    complete: true,
  });
});

test('a record has a line of its own, and text is handed on in pieces', async (t) => {
  const many = Array.from({ length: 5_000 }, (_, id) => ({ id, text: 'x'.repeat(100) }));
  const chunks = await written([{ name: 'many', parts: [part(() => of(...many))] }]);
  t.true(chunks.length > 5);
  t.true(chunks.every(({ length }) => length < 70_000));
  const lines = chunks.join('').split('\n').slice(2, 5_002);
  t.deepEqual(
    lines.map((line) => JSON.parse(line.replace(/\]?,$/, '')).id),
    many.map(({ id }) => id),
  );
});

test('what a section throws ends the text before its end', async (t) => {
  const failure = new Error('the disk is gone');
  const failing = part(async function* () {
    yield { id: 1, text: 'x'.repeat(100_000) };
    throw failure;
  });
  const chunks: string[] = [];
  const error = await t.throwsAsync(async () => {
    const request = { tenantId: 't', signal: new AbortController().signal };
    for await (const chunk of exportDocument({}, [{ name: 'a', parts: [failing] }], request))
      chunks.push(chunk);
  });
  t.is(error, failure);
  t.true(chunks.length > 0);
  t.throws(() => JSON.parse(chunks.join('')));
});

test('a caller who is gone gets no document that looks whole, also where sections end early', async (t) => {
  const gone = new AbortController();
  const leaves = part(async function* (signal) {
    yield { id: 1 };
    gone.abort(new Error('gone'));
    if (!signal.aborted) yield { id: 2 };
  });
  const sections = [{ name: 'a', parts: [leaves] }];
  await t.throwsAsync(written(sections, gone.signal), { message: 'gone' });
});
