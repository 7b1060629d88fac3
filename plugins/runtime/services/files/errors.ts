import { defineErrors } from 'agent-gateway';

/** The errors of files. */
export const FileErrors = defineErrors({
  notFound: { code: 'file.not-found', kind: 'not-found', title: 'There is no such file' },
  forbidden: { code: 'file.forbidden', kind: 'forbidden', title: 'The file belongs to another user' },
  missing: { code: 'file.missing', kind: 'invalid', title: 'The form holds no file' },
  unexpected: {
    code: 'file.unexpected-part',
    kind: 'invalid',
    title: 'The form holds more than one file, or too much beside it',
  },
  malformed: { code: 'file.malformed-form', kind: 'invalid', title: 'The form cannot be read' },
  tooLarge: { code: 'file.too-large', kind: 'too-large', title: 'The file is too large' },
  full: { code: 'file.full', kind: 'conflict', title: 'The tenant has as many files as may be kept' },
  rangeNotSatisfiable: {
    code: 'file.range-not-satisfiable',
    kind: 'range-not-satisfiable',
    title: 'The file has no such bytes',
  },
});
