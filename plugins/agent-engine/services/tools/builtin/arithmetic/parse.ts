import { type Expression, ExpressionProblem, type Operator } from './expression.ts';
import { type Token, tokensOf } from './tokens.ts';

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
