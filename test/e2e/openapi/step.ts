import type { TestResponse } from '../../../testing/start-test-gateway.ts';
import type { Input } from './inputs.ts';

/** A call by which an operation succeeds. What it answers is what later calls name. */
export type Step = readonly [
  operation: string,
  input: (known: Known) => Input | Promise<Input>,
  learn?: (known: Known, body: TestResponse['body']) => unknown,
];

/** Ids and the like that were made so far. */
export type Known = Record<string, string>;
