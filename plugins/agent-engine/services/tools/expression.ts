/** What stands between two operands. */
export type Operator = '+' | '-' | '*' | '/' | '%' | '^';

/** A parsed expression. */
export type Expression =
  | { readonly is: 'number'; readonly text: string }
  | { readonly is: 'constant'; readonly name: string }
  | { readonly is: 'minus'; readonly of: Expression }
  | {
      readonly is: 'operation';
      readonly operator: Operator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly is: 'call'; readonly name: string; readonly given: readonly Expression[] };

/** A mistake in an expression, in words for its author. */
export class ExpressionProblem extends Error {
  override readonly name = 'ExpressionProblem';
}

/** How tightly operators bind; powers bind to the right (`2^3^2` is `2^9`). */
const BINDS: Readonly<Record<Operator, number>> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2, '^': 4 };
/** A sign binds tighter than a product and looser than a power: `-2^2` is -4. */
const SIGN_BINDS = 3;
/** Parentheses, signs and powers inside each other at most. */
const MAX_DEPTH = 64;

/** Reads an expression (a Pratt parser). Throws an `ExpressionProblem`. */
export function parse(expression: string): Expression {
  const tokens = tokensOf(expression);
  let next = 0;
  let depth = 0;

  const peek = () => tokens[next]!;
  const isSign = (text: string) => peek().is === 'sign' && peek().text === text;
  function take(): Token {
    const token = peek();
    next += 1;
    return token;
  }
  function expect(text: string): void {
    if (!isSign(text)) throw unexpected(peek(), `"${text}" is missing`);
    take();
  }

  /** An expression of operators that bind tighter than `least`. */
  function read(least: number): Expression {
    depth += 1;
    if (depth > MAX_DEPTH) throw new ExpressionProblem('The expression is nested too deeply.');
    let left = readOperand();
    for (;;) {
      const token = peek();
      if (token.is !== 'sign' || !isOperator(token.text)) break;
      const operator = token.text;
      const binds = BINDS[operator];
      if (binds <= least) break;
      take();
      left = { is: 'operation', operator, left, right: read(operator === '^' ? binds - 1 : binds) };
    }
    depth -= 1;
    return left;
  }

  function readOperand(): Expression {
    const token = take();
    if (token.is === 'number') return { is: 'number', text: token.text };
    if (token.is === 'name') return isSign('(') ? readCall(token.text) : { is: 'constant', name: token.text };
    if (token.text === '-') return { is: 'minus', of: read(SIGN_BINDS) };
    if (token.text === '+') return read(SIGN_BINDS);
    if (token.text !== '(') throw unexpected(token, 'a number is missing');
    const inner = read(0);
    expect(')');
    return inner;
  }

  function readCall(name: string): Expression {
    take();
    const given = [read(0)];
    while (isSign(',')) {
      take();
      given.push(read(0));
    }
    expect(')');
    return { is: 'call', name, given };
  }

  const whole = read(0);
  if (peek().is !== 'end') throw unexpected(peek(), 'an operator is missing');
  return whole;
}

function isOperator(text: string): text is Operator {
  return Object.hasOwn(BINDS, text);
}

function unexpected({ is, text, at }: Token, message: string): ExpressionProblem {
  const found = is === 'end' ? 'the end' : `"${text.slice(0, 20)}" at ${at + 1}`;
  return new ExpressionProblem(`Before ${found}, ${message}.`);
}

/** A word of an expression. `at` is where it begins. */
interface Token {
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
function tokensOf(expression: string): readonly Token[] {
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
