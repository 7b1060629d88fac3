import type { PlainValue } from './plain-value.ts';

/** Puts a value into a statement: gives the text that stands for it, a literal or a placeholder. */
export type Put = (value: PlainValue) => string;

/** A statement that is still without values. Written again with another `put`, it is the same statement. */
export type Statement = (put: Put) => string;
