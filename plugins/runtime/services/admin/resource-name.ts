import { Type } from 'agent-gateway';

const PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';
const NAME = new RegExp(PATTERN);

/** Name of a new resource (`metadata.name`), after which its file is named. */
export const ResourceName = Type.String({
  pattern: PATTERN,
  patternErrorMessage: 'must be 1 to 63 letters, digits, dots, underscores and dashes',
  examples: ['sums'],
});

/** Whether a resource can have this name. Pure. */
export const isResourceName = (name: string): boolean => NAME.test(name);
