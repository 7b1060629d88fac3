import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { parseSourceFile, splitDocuments } from '../../../foundation/resources/document.ts';
import { RESOURCE_LIMITS } from '../../../foundation/resources/resources.ts';
import { createSourceFiles } from '../../../foundation/resources/source-files.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { thing } from './things.ts';

test('a stream is split at its markers, whatever the line endings', (t) => {
  const cases: [string, number[]][] = [
    ['', []],
    ['# nothing\n', []],
    ['a: 1', [0]],
    ['---\na: 1\n', [0]],
    ['--- {a: 1}\n--- # two\nb: 1\n---\n', [0, 1]],
    ['%YAML 1.2\n---\na: 1\n...\n# between\n---\nb: 1\n...\nc: 1\n', [1, 5, 8]],
    ['a: 1\r\n---\r\nb: 1\r\n---', [0, 1]],
    ['a: |\n  ---\n  text\n----\n--- x\n', [0, 4]],
    ['\uFEFF---\na: 1\n', [0]],
  ];
  for (const [text, starts] of cases) {
    t.deepEqual(
      splitDocuments(text).map(({ linesBefore }) => linesBefore),
      starts,
      JSON.stringify(text),
    );
  }
});

test('whatever values are written as YAML come back apart, each at its line', (t) => {
  const value = fc.record({ a: fc.string(), b: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
      const headers = values.map((spec, at) =>
        stringify({ apiVersion: 'svc/v1', kind: 'Thing', metadata: { name: `t${at}` }, spec }),
      );
      const { documents } = parseSourceFile('x.yaml', headers.join('---\n'));
      t.deepEqual(
        documents.map(({ header }) => header?.spec),
        values,
      );
      let line = 1;
      for (const [at, document] of documents.entries()) {
        const marker = at === 0 ? 0 : 1;
        t.is(document.line, line + marker);
        line += headers[at]!.split('\n').length - 1 + marker;
      }
    }),
  );
});

test('a document that is broken in any way breaks no other', (t) => {
  for (const broken of [
    'a: "x',
    "a: 'x",
    'a: [1,',
    'a: {b: ',
    'a: |\n',
    '\ta: 1',
    '- a\nb: 1',
    '&a *a',
    '? ',
    '@',
    '%x',
  ]) {
    const text = `${thing('one', { text: 'x' })}---\n${broken}\n---\n${thing('two', { text: 'x' })}`;
    const ids = parseSourceFile('x.yaml', text).documents.map(({ id }) => id);
    t.is(ids[0], 'Thing/one', broken);
    t.is(ids.at(-1), 'Thing/two', broken);
  }
});

test('the hash is of the content, not of its form', (t) => {
  const [one, same, other] = [
    'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: a}\nspec: {text: x}\n',
    '# comment\napiVersion: "svc/v1"\nkind: Thing\n\nmetadata:\n  name: a\nspec:\n    text: "x" # why\n',
    'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: a}\nspec: {text: X}\n',
  ].map((text) => parseSourceFile('x.yaml', text).documents[0]!.hash);
  t.is(one, same);
  t.not(one, other);
});

test('versions that end in /v1 are accepted, whatever service they name', (t) => {
  const problems = (version: string) =>
    parseSourceFile('x.yaml', thing('a', {}).replace('svc/v1', version)).documents[0]!.problems.length;
  for (const version of ['svc/v1', 'gateway.example.com/v1', 'x/v1']) t.is(problems(version), 0, version);
  for (const version of ['v1', '/v1', 'svc/v2', 'svc/v1beta1', 'svc/v11', 'a/b/v1', '1', 'SVC/v1'])
    t.is(problems(version), 1, version);
});

test('places inside of lists and below aliases are found', (t) => {
  const text = 'apiVersion: svc/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  - x\n  - y:\n      z: 1\n';
  const [document] = parseSourceFile('x.yaml', text).documents;
  const lines = ['/spec', '/spec/0', '/spec/1/y/z', '/spec/1/y/nothing', '/spec/7', '/a~1b'].map(
    (pointer) => document!.locate([{ pointer, message: '' }])[0]!.line,
  );
  t.deepEqual(lines, [4, 5, 7, 6, 4, 1]);
});

test('a file is read again while a second change could carry the same time, and not after that', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'source-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const real = path.join(folder, 'a.yaml');
  const clock = manualClock();
  const files = createSourceFiles(RESOURCE_LIMITS, clock);
  // The look sees no difference, whatever is written.
  const found = { path: 'a.yaml', real, fingerprint: 'same', bytes: 100, modifiedAt: clock.now() };
  const scan = { exists: true, files: [found], refused: new Map(), folders: new Set<string>() };
  const read = async (text: string) => {
    await writeFile(real, thing('a', { text }));
    const isChanged = files.adopt(await files.read(scan));
    return [isChanged, (files.all[0]!.documents[0]!.header!.spec as { text: string }).text];
  };
  t.deepEqual(await read('one'), [true, 'one']);
  t.deepEqual(await read('two'), [true, 'two']);
  t.deepEqual(await read('two'), [false, 'two']);
  clock.advance(10_000);
  t.deepEqual(await read('three'), [true, 'three']);
  t.deepEqual(await read('four'), [false, 'three']);
});

test('what did not change is the same object', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'source-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const files = createSourceFiles(RESOURCE_LIMITS, manualClock());
  const scan = async (...names: [string, string][]) => {
    const found = names.map(([name, fingerprint]) => ({
      path: name,
      real: path.join(folder, name),
      fingerprint,
      bytes: 100,
      modifiedAt: 0,
    }));
    files.adopt(
      await files.read({ exists: true, files: found, refused: new Map(), folders: new Set<string>() }),
    );
    return files.all;
  };
  for (const name of ['a.yaml', 'b.yaml'])
    await writeFile(path.join(folder, name), thing('x', { text: name }));
  const before = await scan(['a.yaml', '1'], ['b.yaml', '1']);
  await writeFile(path.join(folder, 'b.yaml'), thing('x', { text: 'new' }));
  const touched = await scan(['a.yaml', '2'], ['b.yaml', '2']);
  t.is(touched[0], before[0]);
  t.not(touched[1], before[1]);
});

test('a file that went away between the look and the reading is told', async (t) => {
  const files = createSourceFiles(RESOURCE_LIMITS, manualClock());
  const found = { path: 'a.yaml', real: '/nowhere/a.yaml', fingerprint: '1', bytes: 1, modifiedAt: 0 };
  const scan = { exists: true, files: [found], refused: new Map(), folders: new Set<string>() };
  t.true((await files.read(scan)).isTorn);
  t.false((await files.read({ ...scan, files: [] })).isTorn);
});
