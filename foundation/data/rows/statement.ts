import type { PlainValue } from './plain-value.ts';

/** Puts a value into a statement: gives the text that stands for it, a literal or a placeholder. */
export type Put = (value: PlainValue) => string;

/** A statement apart from its values: `$1` in the text stands for the first. */
export interface Template {
  readonly text: string;
  readonly values: readonly PlainValue[];
}

/** A statement that is still without values. Written again with another `put`, it is the same statement. */
export interface Statement {
  (put: Put): string;
  /** Its template, where that costs less than writing it; undefined where a value is none (`default`). */
  readonly template?: () => Template | undefined;
}

/** The template of a statement. */
export function templateOf(statement: Statement): Template | undefined {
  if (statement.template !== undefined) return statement.template();
  const values: PlainValue[] = [];
  const text = statement((value) => `$${values.push(value)}`);
  return { text, values };
}
