import test from 'ava';
import { StepFailure, type StepResult } from '../../../../../plugins/workflow/contract.ts';
import {
  endingOf,
  endingOfError,
  MAX_OUTPUT,
} from '../../../../../plugins/workflow/services/runner/step-call.ts';

const fence = { stepId: 's', attempt: 1, delivery: 1 };
const codeOf = (result: unknown) => {
  const ending = endingOf(fence, result as StepResult);
  return ending.type === 'failed' ? `${ending.error.code} ${ending.isRetryable}` : ending.type;
};

test('an output is what its JSON says, and nobody else can change it', (t) => {
  const output = { kept: [1], gone: undefined, 'not a number': Number.NaN };
  const ending = endingOf(fence, { output } as unknown as StepResult);
  output.kept.push(2);
  t.deepEqual(ending, { type: 'succeeded', fence, output: { kept: [1], 'not a number': null } });
});

test('an output of a prototype is data', (t) => {
  const ending = endingOf(fence, { output: JSON.parse('{"__proto__": {"isAdmin": true}}') });
  t.true(ending.type === 'succeeded' && Object.hasOwn(ending.output, '__proto__'));
  t.false('isAdmin' in {});
});

const circular: Record<string, unknown> = {};
circular.itself = circular;
let deep: unknown = {};
for (let level = 0; level < 100_000; level += 1) deep = { deep };

for (const [what, output] of [
  ['nothing', undefined],
  ['null', null],
  ['a text', 'text'],
  ['a list', []],
  ['a date', new Date(0)],
  ['a circle', circular],
  ['a big integer', { value: 1n }],
  ['something without end', deep],
] as const) {
  test(`an output that is ${what} is invalid, for good`, (t) => {
    t.is(codeOf({ output }), 'output_invalid false');
  });
}

test('an output may have 256 levels', (t) => {
  const nested = (levels: number) => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = { value };
    return value;
  };
  t.is(codeOf({ output: nested(256) }), 'succeeded');
  t.is(codeOf({ output: nested(257) }), 'output_invalid false');
});

test('no result at all is an invalid output', (t) => {
  t.is(codeOf(undefined), 'output_invalid false');
});

test('an output may have 1 MiB of JSON, counted in bytes, and no more', (t) => {
  const overhead = JSON.stringify({ text: '' }).length;
  t.is(codeOf({ output: { text: 'x'.repeat(MAX_OUTPUT - overhead) } }), 'succeeded');
  t.is(codeOf({ output: { text: 'x'.repeat(MAX_OUTPUT - overhead + 1) } }), 'output_too_large false');
  t.is(codeOf({ output: { text: 'ä'.repeat((MAX_OUTPUT - overhead) / 2) } }), 'succeeded');
  t.is(codeOf({ output: { text: 'ä'.repeat(MAX_OUTPUT / 2) } }), 'output_too_large false');
});

test('a record is kept when it is small, and left out otherwise', (t) => {
  t.deepEqual(endingOf(fence, { output: {}, record: { status: 200 } }), {
    type: 'succeeded',
    fence,
    output: {},
    record: { status: 200 },
  });
  t.false('record' in endingOf(fence, { output: {}, record: { text: 'x'.repeat(5_000) } }));
});

test('a failure keeps what its author said', (t) => {
  const failure = new StepFailure('broken', 'It broke.', { isRetryable: false, record: { status: 400 } });
  t.deepEqual(endingOfError(fence, failure), {
    type: 'failed',
    fence,
    error: { code: 'broken', message: 'It broke.' },
    isRetryable: false,
    record: { status: 400 },
  });
});

test('a time that the other side asked for goes along; what cannot be one does not', (t) => {
  const asked = (retryAfterMs: unknown) => {
    const failure = new StepFailure('busy', 'It is busy.', { retryAfterMs: retryAfterMs as number });
    return (endingOfError(fence, failure) as { retryAfterMs?: number }).retryAfterMs;
  };
  t.deepEqual([1_500.2, 0, -1, Number.NaN, '9'].map(asked), [1_501, ...Array(4).fill(undefined)]);
});

test('of any other error nothing is told', (t) => {
  for (const error of [new Error('secret'), 'secret', undefined, { code: 'secret' }]) {
    const ending = endingOfError(fence, error);
    t.is(ending.type === 'failed' && ending.error.code, 'internal');
    t.notRegex(JSON.stringify(ending), /secret/);
  }
});

test('a code that is none is told as internal', (t) => {
  const ending = endingOfError(fence, new StepFailure('Not a code!', 'It broke.'));
  t.is(ending.type === 'failed' && ending.error.code, 'internal');
});
