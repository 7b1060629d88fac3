import test from 'ava';
import fc from 'fast-check';
import {
  isBaggage,
  isTraceState,
  parseTraceParent,
  readTraceContext,
  writeTraceContext,
} from '../../../foundation/observability/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('a traceparent is read', (t) => {
  t.deepEqual(parseTraceParent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, isSampled: true });
  t.is(parseTraceParent(`00-${TRACE}-${SPAN}-02`)?.isSampled, false);
});

test('a traceparent of a later version is read as far as it is known', (t) => {
  t.is(parseTraceParent(`cc-${TRACE}-${SPAN}-01-what-the-future-brings`)?.traceId, TRACE);
});

const MALFORMED = [
  '',
  'x',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01-`,
  `cc-${TRACE}-${SPAN}-01.more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-1`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-01-${'x'.repeat(500)}`,
];

for (const value of MALFORMED) {
  test(`the traceparent ${JSON.stringify(value.slice(0, 90))} is dropped, with its tracestate`, (t) => {
    t.is(parseTraceParent(value), undefined);
    t.deepEqual(writeTraceContext(readTraceContext({ traceparent: value, tracestate: 'a=1' })), {});
  });
}

test('a tracestate follows the grammar and its limits', (t) => {
  const valid = [
    'a=1',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'tenant@vendor=x y',
    'a=1 , b=2',
    'a=1,,b=2',
  ];
  const invalid = [
    '',
    ',',
    'a',
    'a=',
    '=1',
    'A=1',
    'a=1,a=2',
    'a=b=c',
    'a=\n',
    'a=ü',
    `a=${'x'.repeat(520)}`,
  ];
  const many = Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',');
  for (const value of valid) t.true(isTraceState(value), value);
  for (const value of [...invalid, many]) t.false(isTraceState(value), value);
});

test('a baggage follows the grammar and its limits', (t) => {
  const valid = ['userId=alice', 'a=1,b=2;p;q=3', 'a = 1 ; p = 2 , b=%20', 'a='];
  const invalid = [
    '',
    'a',
    'a=1,',
    'a b=1',
    'a=1 2',
    'a="x"',
    'a=1;=2',
    'a=1\r\nx: y',
    'a=ü',
    `a=${'x'.repeat(9000)}`,
  ];
  const many = Array.from({ length: 65 }, (_, index) => `k${index}=1`).join(',');
  for (const value of valid) t.true(isBaggage(value), value);
  for (const value of [...invalid, many]) t.false(isBaggage(value), value);
});

test('baggage travels without a trace', (t) => {
  t.deepEqual(writeTraceContext(readTraceContext({ baggage: 'a=1' })), { baggage: 'a=1' });
});

test('what is written holds no line break, whatever was read, and reads the same again', (t) => {
  const value = fc.string({
    unit: fc.constantFrom('a', '=', ',', ';', ' ', '\t', '\r', '\n', '@', '"', 'ü', '0'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(value, value, (tracestate, baggage) => {
      const context = readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate, baggage });
      const headers = writeTraceContext(context);
      for (const text of Object.values(headers)) if (!/^[\t\x20-\x7e]*$/.test(text)) throw new Error(text);
      t.deepEqual(readTraceContext(headers), context);
    }),
  );
});
