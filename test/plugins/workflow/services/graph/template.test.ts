import test from 'ava';
import {
  isFault,
  isLiteral,
  parseReference,
  parseTemplate,
  wholeReference,
} from '../../../../../plugins/workflow/services/graph/template.ts';

/** The parts of a text, references in angle brackets. */
function partsOf(text: string): readonly string[] {
  return parseTemplate(text).parts.map((part) => (typeof part === 'string' ? part : `<${part.text}>`));
}

const PARTS: readonly (readonly [text: string, parts: readonly string[], faults: readonly string[]])[] = [
  ['', [], []],
  ['plain', ['plain'], []],
  ['{{input.a}}', ['<input.a>'], []],
  ['{{  input.a\t}}', ['<input.a>'], []],
  ['a {{input.a}}{{variables.b}} c', ['a ', '<input.a>', '<variables.b>', ' c'], []],
  [
    '{{steps.x-1.output}} {{steps.x_1.output.a.0}}',
    ['<steps.x-1.output>', ' ', '<steps.x_1.output.a.0>'],
    [],
  ],
  ['{{input.first name}} {{input.größe}}', ['<input.first name>', ' ', '<input.größe>'], []],
  ['never {{input.a', ['never {{input.a'], []],
  ['{{input.a}} then {{ never', ['<input.a>', ' then {{ never'], []],
  ['}} {"a": {"b": 1}} { {', ['}} {"a": {"b": 1}} { {'], []],
  ['{{}}', ['{{}}'], ['{{}}']],
  ['{{foo}} {{input.a}}', ['{{foo}} ', '<input.a>'], ['{{foo}}']],
  ['{{{input.a}}}', ['{{{input.a}}}'], ['{{{input.a}}']],
  ['{{ {{input.a}} }}', ['{{ {{input.a}} }}'], ['{{ {{input.a}}']],
  [
    '{{input.a | upper}} {{input.a[0]}}',
    ['{{input.a | upper}} {{input.a[0]}}'],
    ['{{input.a | upper}}', '{{input.a[0]}}'],
  ],
];

for (const [text, parts, faults] of PARTS) {
  test(`the parts of ${JSON.stringify(text)}`, (t) => {
    t.deepEqual(partsOf(text), parts);
    t.deepEqual(
      parseTemplate(text).faults.map(({ expression }) => expression),
      faults,
    );
  });
}

test('a whole reference has nothing around it, not even a space', (t) => {
  t.is(wholeReference(parseTemplate('{{ input.a }}'))?.text, 'input.a');
  for (const text of ['{{input.a}} ', ' {{input.a}}', '{{input.a}}{{input.b}}', 'input.a', '', '{{foo}}']) {
    t.is(wholeReference(parseTemplate(text)), undefined, text);
  }
});

test('a literal has nothing to fill in, and nothing that looks like it', (t) => {
  for (const text of ['', 'plain', 'never {{ closed']) t.true(isLiteral(parseTemplate(text)), text);
  for (const text of ['{{input.a}}', 'a {{input.a}}', '{{foo}}'])
    t.false(isLiteral(parseTemplate(text)), text);
});

const REFERENCES: readonly (readonly [text: string, rule: string | undefined, says: RegExp])[] = [
  ['input.a', undefined, /^/],
  ['input.a.b.0', undefined, /^/],
  ['variables.a', undefined, /^/],
  ['steps.a.output', undefined, /^/],
  ['steps.a.output.b', undefined, /^/],
  [' input.a ', undefined, /^/],
  [`input${'.a'.repeat(31)}`, undefined, /^/],
  [`input${'.a'.repeat(32)}`, 'path-depth', /has 33 names\. A path may have 32/],
  [`input.${'a'.repeat(1_024)}`, 'path', /longer than 1024/],
  ['', 'path', /is empty\. Write input/],
  ['input', 'path', /names no field\. Write input\.<field>/],
  ['variables', 'path', /names no field\. Write variables\.<key>/],
  ['steps', 'path', /names no node/],
  ['steps.a', 'path', /needs "output" after the node: steps\.a\.output/],
  ['steps.a.input.b', 'path', /needs "output"/],
  ['steps.a.outputs.b', 'path', /needs "output"/],
  ['vars.a', 'path', /Did you mean "variables"\?/],
  ['step.a.output', 'path', /Did you mean "steps"\?/],
  ['Input.a', 'path', /begins with/],
  [
    'constructor.a',
    'path',
    /begins with input\.<field>, variables\.<key> or steps\.<node id>\.output\.<field>\.$/,
  ],
  ['a', 'path', /begins with/],
  ['.input.a', 'path', /begins with/],
  ['input..a', 'path', /a name between its dots that is empty/],
  ['input.a.', 'path', /a name between its dots that is empty/],
  ['input. a', 'path', /has spaces around it/],
  ['input.a }', 'path', /braces/],
  ['input.list[0]', 'path', /Elements are list\.0/],
  ['input.a | upper', 'path', /there are no filters/],
  ['input.a\nb', 'path', /a name between/],
];

for (const [text, rule, says] of REFERENCES) {
  test(`${JSON.stringify(text.slice(0, 40))} is ${rule === undefined ? 'a path' : 'no path'}`, (t) => {
    const parsed = parseReference(text);
    t.is<string | undefined, string | undefined>(isFault(parsed) ? parsed.rule : undefined, rule);
    if (isFault(parsed)) t.regex(parsed.message, says);
  });
}

test('a path is read into its names', (t) => {
  t.deepEqual(parseReference(' steps.ask.output.list.0 '), {
    text: 'steps.ask.output.list.0',
    root: 'steps',
    node: 'ask',
    path: ['list', '0'],
  });
  t.deepEqual(parseReference('input.a'), { text: 'input.a', root: 'input', node: undefined, path: ['a'] });
});
