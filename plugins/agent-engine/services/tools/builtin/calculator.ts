import type { Tool } from '../../../contract.ts';
import { calculate } from './arithmetic/calculate.ts';

/** The tool `calculator`: exact decimal arithmetic. */
export const calculator: Tool = {
  ref: 'builtin/calculator',
  name: 'calculator',
  description:
    'Calculates an arithmetic expression exactly, with decimals of any usual size. Use it for every calculation. Operators: + - * / % (remainder) ^ (power) and parentheses. Functions: abs, round, floor, ceil, sqrt, ln, log (base 10), exp, sin, cos, tan (radians), min(…), max(…). Constants: pi, e. Returns the number.',
  parameters: {
    type: 'object',
    properties: {
      expression: { type: 'string', description: 'For example (17 * 23 - 1) / 2 or sqrt(2) * max(3, 4)' },
    },
    required: ['expression'],
    additionalProperties: false,
  },
  timeoutMs: 5_000,
  async invoke(input) {
    const result = calculate(String(input.expression));
    return 'value' in result
      ? { content: result.value }
      : { content: `Error: ${result.problem}`, isError: true };
  },
};
