import { defineErrors } from 'agent-gateway';

/** What can go wrong with pages, beside that there are none. */
export const PageErrors = defineErrors({
  changed: { code: 'page.changed', kind: 'precondition-failed', title: 'The file is another one by now' },
  rangeNotSatisfiable: {
    code: 'page.range-not-satisfiable',
    kind: 'range-not-satisfiable',
    title: 'The file has no such bytes',
  },
});
