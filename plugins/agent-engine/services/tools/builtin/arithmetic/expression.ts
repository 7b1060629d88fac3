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

/** A mistake in an expression, in words for whoever wrote it. */
export class ExpressionProblem extends Error {
  override readonly name = 'ExpressionProblem';
}
