import { ExpressionProblem } from './expression.ts';

/** A word of an expression. `at` is where it begins. */
export interface Token {
  readonly is: 'number' | 'name' | 'sign' | 'end';
  readonly text: string;
  readonly at: number;
}

/** Characters of an expression, and digits of a number, at most. */
const MAX_LENGTH = 1_000;
const MAX_DIGITS = 60;

const BLANK = /\s+/y;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z]+/y;
const SIGN = /[-+*/%^(),]/y;

/** Cuts an expression into words; the last one is `end`. Throws an `ExpressionProblem`. `**` is read as `^`. */
export function tokensOf(expression: string): readonly Token[] {
  if (expression.length > MAX_LENGTH)
    throw new ExpressionProblem(`The expression is longer than ${MAX_LENGTH} characters.`);
  const tokens: Token[] = [];
  let at = 0;
  const read = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(expression)?.[0];
  };
  while (at < expression.length) {
    const blank = read(BLANK);
    if (blank !== undefined) {
      at += blank.length;
      continue;
    }
    const number = read(NUMBER);
    const name = number ?? read(NAME);
    const text = expression.startsWith('**', at) ? '**' : (name ?? read(SIGN));
    if (text === undefined)
      throw new ExpressionProblem(
        `"${String.fromCodePoint(expression.codePointAt(at)!)}" at ${at + 1} means nothing.`,
      );
    if (number !== undefined && number.replace(/[^\d]/g, '').length > MAX_DIGITS)
      throw new ExpressionProblem(`The number at ${at + 1} has more than ${MAX_DIGITS} digits.`);
    const is = number !== undefined ? 'number' : name !== undefined ? 'name' : 'sign';
    tokens.push({ is, text: text === '**' ? '^' : text, at });
    at += text.length;
  }
  return [...tokens, { is: 'end', text: '', at }];
}
