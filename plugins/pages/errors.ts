import { defineErrors } from 'agent-gateway';

/** The errors of pages, apart from a missing one. */
export const PageErrors = defineErrors({
  changed: { code: 'page.changed', kind: 'precondition-failed', title: 'The file is another one by now' },
  rangeNotSatisfiable: {
    code: 'page.range-not-satisfiable',
    kind: 'range-not-satisfiable',
    title: 'The file has no such bytes',
  },
});
