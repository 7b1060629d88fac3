/**
 * True for a field, header or cookie name whose value is a credential, whatever it looks like (`password`,
 * `X-API-Key`, `client_secret`). Case, `-`, `_` and `.` do not matter.
 */
export function isSecretName(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const verdict = judge(name);
  // Names come from code and from callers' JSON; the bound keeps the latter from growing the table.
  if (verdicts.size < MAX_VERDICTS && name.length <= MAX_NAME) verdicts.set(name, verdict);
  return verdict;
}

const MAX_VERDICTS = 2000;
const MAX_NAME = 128;
const verdicts = new Map<string, boolean>();

function judge(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_.\s]/g, '');
  return WHOLE.has(plain) || ENDING.test(plain);
}

const WHOLE: ReadonlySet<string> = new Set([
  'key',
  'dsn',
  'mysqldsn',
  'databaseurl',
  'redisurl',
  'credential',
]);
const ENDING =
  /(?:authorization|cookie|password|passwd|pwd|passphrase|secret|token|apikey|privatekey|signingkey|credentials|svcsession|svccsrf|xcsrf)$/;
