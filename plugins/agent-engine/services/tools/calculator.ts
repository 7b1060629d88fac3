import { Decimal } from 'decimal.js';
import type { Tool } from '../../contract.ts';
import { builtinTool } from './builtin-tool.ts';
import { type Expression, ExpressionProblem, type Operator, parse } from './expression.ts';

/** The tool `calculator`: exact decimal arithmetic. */
export const calculator: Tool = builtinTool({
  name: 'calculator',
  description:
    'Calculates an arithmetic expression exactly, with decimals of any usual size. Use it for every calculation. Operators: + - * / % (remainder) ^ (power) and parentheses. Functions: abs, round, floor, ceil, sqrt, ln, log (base 10), exp, sin, cos, tan (radians), min(…), max(…). Constants: pi, e. Returns the number.',
  properties: {
    expression: { type: 'string', description: 'For example (17 * 23 - 1) / 2 or sqrt(2) * max(3, 4)' },
  },
  required: ['expression'],
  timeoutMs: 5_000,
  async invoke(input) {
    const result = calculate(String(input.expression));
    return 'value' in result
      ? { content: result.value }
      : { content: `Error: ${result.problem}`, isError: true };
  },
});

/*
 * Decimal arithmetic whose cost is bounded: numbers have 60 digits, and an operation refuses operands for which the
 * library would compute for long.
 */
const Numbers = Decimal.clone({ precision: 60, maxE: 5_000, minE: -5_000, toExpPos: 59, toExpNeg: -21 });

/** Digits that are shown; the others absorb what rounding does. */
const SHOWN = 40;
/** Digits after the point of results of trigonometry: `sin(pi)` is 0. */
const PLACES = 45;
/** Whole numbers of so many digits are exact, and shown in full. */
const EXACT = 58;
const MAX_POWER = 10_000;
const MAX_ANGLE = 1e12;

/** Powers and functions of one expression: the worst of them take 3 ms. */
const MAX_COSTLY = 50;

const PI = new Numbers('3.14159265358979323846264338327950288419716939937510582097494459230781640628620899');
const CONSTANTS = new Map([
  ['pi', PI],
  ['e', new Numbers(1).exp()],
]);

/** The value of an expression as text, or why it has none, in words for a model. Pure. */
export function calculate(expression: string): { readonly value: string } | { readonly problem: string } {
  try {
    let costly = 0;
    const spend = () => {
      costly += 1;
      if (costly > MAX_COSTLY) refuse(`More than ${MAX_COSTLY} powers and functions are too many.`);
    };
    return { value: show(evaluate(parse(expression), spend)) };
  } catch (error) {
    if (error instanceof ExpressionProblem) return { problem: error.message };
    throw error;
  }
}

/** `spend` is called for each power and function. */
function evaluate(expression: Expression, spend: () => void): Decimal {
  switch (expression.is) {
    case 'number':
      return finite(new Numbers(expression.text));
    case 'minus':
      return evaluate(expression.of, spend).negated();
    case 'constant': {
      const value = CONSTANTS.get(expression.name.toLowerCase());
      if (value === undefined) throw new ExpressionProblem(`"${expression.name.slice(0, 30)}" is not known.`);
      return value;
    }
    case 'operation': {
      if (expression.operator === '^') spend();
      const [left, right] = [evaluate(expression.left, spend), evaluate(expression.right, spend)];
      return finite(OPERATIONS[expression.operator](left, right));
    }
    case 'call': {
      spend();
      const given = expression.given.map((one) => evaluate(one, spend));
      return finite(call(expression.name.toLowerCase(), given));
    }
  }
}

const OPERATIONS: Readonly<Record<Operator, (a: Decimal, b: Decimal) => Decimal>> = {
  '+': (a, b) => a.plus(b),
  '-': (a, b) => a.minus(b),
  '*': (a, b) => a.times(b),
  '/': (a, b) => a.dividedBy(divisor(b)),
  '%': (a, b) => remainder(a, divisor(b)),
  '^': power,
};

const FUNCTIONS = new Map<string, (x: Decimal) => Decimal>([
  ['abs', (x) => x.abs()],
  // Half away from zero, as people round.
  ['round', (x) => x.toDecimalPlaces(0, Decimal.ROUND_HALF_UP)],
  ['floor', (x) => x.floor()],
  ['ceil', (x) => x.ceil()],
  ['sqrt', (x) => (x.isNegative() && !x.isZero() ? refuse('A negative number has no real root.') : x.sqrt())],
  ['ln', (x) => positive(x).ln()],
  ['log', (x) => positive(x).log(10)],
  ['exp', (x) => (x.abs().gt(MAX_POWER) ? refuse('The exponent is too large.') : x.exp())],
  ['sin', (x) => angle(x).sin().toDecimalPlaces(PLACES)],
  ['cos', (x) => angle(x).cos().toDecimalPlaces(PLACES)],
  ['tan', (x) => angle(x).tan().toDecimalPlaces(PLACES)],
]);

function call(name: string, given: readonly Decimal[]): Decimal {
  if (name === 'min') return Numbers.min(...given);
  if (name === 'max') return Numbers.max(...given);
  const work = FUNCTIONS.get(name);
  if (work === undefined) return refuse(`There is no function "${name.slice(0, 30)}".`);
  const [x, ...more] = given;
  return more.length > 0 ? refuse(`${name} takes one number.`) : work(x!);
}

function power(base: Decimal, exponent: Decimal): Decimal {
  if (exponent.abs().gt(MAX_POWER)) refuse('The exponent is too large.');
  if (base.isNegative() && !exponent.isInteger())
    refuse('A negative number has no real power of this exponent.');
  if (base.isZero() && exponent.isNegative()) refuse('Division by zero.');
  return base.pow(exponent);
}

function remainder(a: Decimal, b: Decimal): Decimal {
  // The quotient has as many digits as this: without the bound it could have thousands.
  if (!a.isZero() && a.e - b.e > SHOWN) refuse('The numbers are too far apart for a remainder.');
  return a.modulo(b);
}

function divisor(x: Decimal): Decimal {
  return x.isZero() ? refuse('Division by zero.') : x;
}

function positive(x: Decimal): Decimal {
  return x.gt(0) ? x : refuse('Only positive numbers have a logarithm.');
}

function angle(x: Decimal): Decimal {
  return x.abs().gt(MAX_ANGLE) ? refuse('The angle is too large.') : x;
}

function finite(x: Decimal): Decimal {
  return x.isFinite() ? x : refuse('The result is too large.');
}

function refuse(message: string): never {
  throw new ExpressionProblem(message);
}

function show(value: Decimal): string {
  const isExact = value.isInteger() && value.e < EXACT;
  const shown = isExact ? value : value.toSignificantDigits(SHOWN);
  return shown.isZero() ? '0' : shown.toString();
}
