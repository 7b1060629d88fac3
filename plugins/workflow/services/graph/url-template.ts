import { parseTemplate, wholeReference } from './template.ts';

const WEB = /^https?:\/\//i;
/** Scheme, host and port, and what ends them. */
const ORIGIN = /^https?:\/\/[^/?#\\]+[/?#\\]/i;

/** Whether scheme, host and port are written out, so that nothing that is inserted decides who gets the request. */
export function hasLiteralOrigin(written: string): boolean {
  const [first, ...rest] = parseTemplate(written).parts;
  return typeof first === 'string' && (rest.length === 0 ? WEB.test(first) : ORIGIN.test(first));
}

/**
 * What is wrong with the URL of a service task, as far as it is known before its templates are filled in; `undefined` when nothing is.
 */
export function urlFault(written: string): string | undefined {
  const template = parseTemplate(written);
  // What is wrong with its braces is told elsewhere.
  if (template.faults.length > 0 || wholeReference(template) !== undefined) return undefined;
  const [first = ''] = template.parts;
  if (typeof first !== 'string') {
    return (
      'begins with a template and goes on: what is inserted is percent-encoded, which spoils a scheme and host. ' +
      'Write them out, or make the whole URL one template.'
    );
  }
  if (!WEB.test(first)) return 'must begin with http:// or https://.';
  const isKnown = template.parts.length === 1 || ORIGIN.test(first);
  if (!isKnown) return undefined;
  if (!URL.canParse(first)) return 'is no URL.';
  const { username, password } = new URL(first);
  return username === '' && password === ''
    ? undefined
    : 'must not hold a user name or password. Send an authorization header.';
}
