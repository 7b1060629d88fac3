import test from 'ava';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { parseSourceFile } from '../../../foundation/resources/source-file.ts';
import { splitDocuments } from '../../../foundation/resources/split-documents.ts';
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
