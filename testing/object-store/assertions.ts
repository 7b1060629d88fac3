import assert from 'node:assert/strict';

/** What an error has to be like. */
interface Expected {
  readonly code?: string;
  readonly message?: string | RegExp;
  readonly instanceOf?: abstract new (...given: never[]) => Error;
}

/** The assertions of the checks, for any test runner: each throws an AssertionError. */
export const assertions = {
  is: (actual: unknown, expected: unknown, message?: string) =>
    assert.ok(Object.is(actual, expected), message ?? `${String(actual)} is not ${String(expected)}`),
  not: (actual: unknown, unexpected: unknown) =>
    assert.ok(!Object.is(actual, unexpected), `${String(actual)} is what it must not be`),
  true: (actual: unknown, message?: string) => assert.equal(actual, true, message),
  false: (actual: unknown, message?: string) => assert.equal(actual, false, message),
  deepEqual: (actual: unknown, expected: unknown, message?: string) =>
    assert.deepEqual(actual, expected, message),
  regex: (actual: string, expected: RegExp) => assert.match(actual, expected),
  throws(work: () => unknown, expected: Expected, message?: string): void {
    let thrown: unknown;
    try {
      work();
    } catch (error) {
      thrown = error;
    }
    check(thrown, expected, message);
  },
  /** Gives back what was thrown. */
  async throwsAsync(
    work: Promise<unknown> | (() => Promise<unknown>),
    expected: Expected = {},
    message?: string,
  ): Promise<unknown> {
    let thrown: unknown;
    try {
      await (typeof work === 'function' ? work() : work);
    } catch (error) {
      thrown = error;
    }
    check(thrown, expected, message);
    return thrown;
  },
};

export type Assertions = typeof assertions;

function check(thrown: unknown, expected: Expected, message = ''): void {
  if (!(thrown instanceof Error)) assert.fail(`nothing was thrown ${message}`.trim());
  if (expected.code !== undefined)
    assert.equal((thrown as { code?: unknown }).code, expected.code, `${message} ${thrown.message}`.trim());
  if (typeof expected.message === 'string') assert.equal(thrown.message, expected.message);
  else if (expected.message !== undefined) assert.match(thrown.message, expected.message);
  if (expected.instanceOf !== undefined)
    assert.ok(thrown instanceof expected.instanceOf, `${thrown.name} was thrown`);
}
