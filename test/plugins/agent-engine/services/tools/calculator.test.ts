import test from 'ava';
import fc from 'fast-check';
import { calculate, calculator } from '../../../../../plugins/agent-engine/services/tools/calculator.ts';
import { toolContext } from '../tool-context.ts';

for (const [expression, value] of [
  ['17 * 23', '391'],
  ['0.1 + 0.2', '0.3'],
  ['2^3^2', '512'],
  ['2**10', '1024'],
  ['-2^2', '-4'],
  ['(-2)^2', '4'],
  ['2^-1', '0.5'],
  ['2 - 3 - 4', '-5'],
  ['24 / 4 / 2', '3'],
  ['2 + 3 * 4', '14'],
  ['-7 % 3', '-1'],
  ['7.5 % 2', '1.5'],
  ['1/3', '0.3333333333333333333333333333333333333333'],
  ['10 ^ 25 + 1', '10000000000000000000000001'],
  ['.5 + 5.', '5.5'],
  ['1.5e3', '1500'],
  ['2 * e', '5.436563656918090470720574942705324995514'],
  ['sin(pi)', '0'],
  ['cos(0)', '1'],
  ['tan(pi / 4)', '1'],
  ['sqrt(16) + abs(-2)', '6'],
  ['round(2.5) + floor(-1.5) + ceil(1.2)', '3'],
  ['ln(e)', '1'],
  ['log(1000)', '3'],
  ['exp(0)', '1'],
  ['MAX(1, 2, 3) - min(4, 5)', '-1'],
  ['+3 - -3', '6'],
  ['0 * -1', '0'],
] as const) {
  test(`${expression} is ${value}`, (t) => t.deepEqual(calculate(expression), { value }));
}

for (const [expression, problem] of [
  ['', 'Before the end, a number is missing.'],
  ['1 +', 'Before the end, a number is missing.'],
  ['(1', 'Before the end, ")" is missing.'],
  ['1 2', 'Before "2" at 3, an operator is missing.'],
  ['2pi', 'Before "pi" at 2, an operator is missing.'],
  ['1 + $', '"$" at 5 means nothing.'],
  ['1 / 0', 'Division by zero.'],
  ['1 % 0', 'Division by zero.'],
  ['0 ^ -1', 'Division by zero.'],
  ['sqrt(-1)', 'A negative number has no real root.'],
  ['ln(0)', 'Only positive numbers have a logarithm.'],
  ['(-8) ^ 0.5', 'A negative number has no real power of this exponent.'],
  ['foo(1)', 'There is no function "foo".'],
  ['foo + 1', '"foo" is not known.'],
  ['constructor', '"constructor" is not known.'],
  ['sin(1, 2)', 'sin takes one number.'],
  ['sin()', 'Before ")" at 5, a number is missing.'],
  ['9 ^ 9999', 'The result is too large.'],
  ['9 ^ 9 ^ 9', 'The exponent is too large.'],
  ['exp(1e9)', 'The exponent is too large.'],
  ['sin(1e100)', 'The angle is too large.'],
  ['1e999999999', 'The result is too large.'],
  ['1e4000 % 7', 'The numbers are too far apart for a remainder.'],
  ['1'.repeat(61), 'The number at 1 has more than 60 digits.'],
  ['('.repeat(100), 'The expression is nested too deeply.'],
  ['-'.repeat(100), 'The expression is nested too deeply.'],
  ['1+'.repeat(600), 'The expression is longer than 1000 characters.'],
  [Array(60).fill('2^2').join('+'), 'More than 50 powers and functions are too many.'],
] as const) {
  test(`${expression.slice(0, 20)} is refused: ${problem}`, (t) =>
    t.deepEqual(calculate(expression), { problem }));
}

test('whole numbers are calculated as BigInt does', (t) => {
  const number = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
  fc.assert(
    fc.property(number, number, number, (a, b, c) => {
      t.deepEqual(calculate(`(${a} + ${b}) * ${c} - ${b}`), { value: String((a + b) * c - b) });
    }),
  );
});

test('whatever is typed, there is an answer in words or a number', (t) => {
  const piece = fc.constantFrom(...'0 1 9.5 1e9 + - * / % ^ ( ) , sin max pi e x $ é 😀'.split(' '));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const told = calculate(pieces.join(' '));
      t.regex('value' in told ? told.value : told.problem, /./);
    }),
  );
});

test('the tool answers the model with the number, or with what is wrong', async (t) => {
  t.deepEqual(await calculator.invoke({ expression: '6 * 7' }, toolContext()), { content: '42' });
  t.deepEqual(await calculator.invoke({ expression: '6 *' }, toolContext()), {
    content: 'Error: Before the end, a number is missing.',
    isError: true,
  });
});
