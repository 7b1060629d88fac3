import { misspelledMember } from '../base/nearest-name.ts';
import { isObject, wrong } from './definition-form.ts';

/**
 * What a member of a contribution has to be; `?`: or missing; `any?`: whatever it is. A form in a list: a list whose
 * elements have these members.
 */
type MemberForm = 'text' | 'function' | 'function?' | 'any?' | 'list' | readonly [ContributionForm];

/**
 * The members that the contributions to an extension point need. Only they are looked at; where one is missing, another
 * that nearly has its name is refused.
 */
export interface ContributionForm {
  readonly [member: string]: MemberForm | undefined;
}

/** The same, of what is known to have these members. */
export type FormOf<T> = { readonly [K in keyof T]?: MemberForm };

const SHOULD = { text: 'a text that is not empty', function: 'a function', list: 'a list' };

/** An extension point, as far as it matters here. */
interface FormedPoint {
  readonly id: string;
  readonly form?: ContributionForm;
}

/**
 * Refuses a contribution that would fail at its first use, in the work of the plugin that reads the point. The compiler
 * says it to authors who ask it; plugins are loaded without that, and may name a point by its id alone.
 *
 * @param points all that are declared: those of `id` say what is asked
 * @throws Error that names the plugin, the point and the member, what it is and what it should be
 */
export function checkContribution(
  plugin: string,
  id: string,
  value: unknown,
  points: readonly FormedPoint[],
): void {
  const form = points.find((point) => point.id === id && point.form !== undefined)?.form;
  const problem = form && problemOf('', value, form);
  if (problem !== undefined) throw new Error(`${plugin} contributes to ${id}: ${problem}`);
}

function problemOf(path: string, value: unknown, form: ContributionForm): string | undefined {
  if (!isObject(value) && typeof value !== 'function')
    return wrong(path === '' ? 'the value' : path.slice(0, -1), value, 'an object');
  for (const [name, kind] of Object.entries(form)) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    const problem = kind && memberProblem(`${path}${name}`, member, kind);
    if (problem !== undefined) return problem;
  }
  const known = Object.keys(form);
  // A contribution may have more members than its point looks at, also of a similar name.
  const missing = known.filter((name) => !(name in value));
  const misspelled = misspelledMember(value, known, missing);
  return misspelled && `${path === '' ? '' : `"${path.slice(0, -1)}": `}${misspelled}`;
}

function memberProblem(path: string, value: unknown, kind: MemberForm): string | undefined {
  if (typeof kind !== 'string') {
    if (!Array.isArray(value)) return wrong(path, value, SHOULD.list);
    return value.map((one, at) => problemOf(`${path}.${at}.`, one, kind[0])).find(Boolean);
  }
  if (kind === 'any?') return undefined;
  if (kind === 'function?') return value === undefined ? undefined : memberProblem(path, value, 'function');
  const is = {
    text: typeof value === 'string' && value !== '',
    function: typeof value === 'function',
    list: Array.isArray(value),
  };
  return is[kind] ? undefined : wrong(path, value, SHOULD[kind]);
}
