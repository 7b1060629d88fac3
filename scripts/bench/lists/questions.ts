import {
  completed,
  type Filled,
  KEYS,
  LARGE_TENANT,
  RARE_TOOL,
  type Sizes,
  SMALL_TENANT,
} from './large-tables.ts';

/** A request to a list or a report. */
export interface Question {
  readonly title: string;
  readonly path: string;
  readonly key: string;
}

const DAY = 24 * 60 * 60 * 1000;

/**
 * Every list and report that grows with use: its first page, a page far behind, its filters, its search. The page far
 * behind begins in the middle of what the large tenant has, or all tenants have.
 */
export function questionsAbout(
  sizes: Sizes,
  { sessionId, requestId }: Filled,
  now: number,
): readonly Question[] {
  const ask =
    (key: string, path: string) =>
    (queries: Readonly<Record<string, string>>): Question[] =>
      Object.entries(queries).map(([title, query]) => ({
        title: `${path} ${title}`,
        path: query === '' ? path : `${path}?${query}`,
        key,
      }));
  const { largest, days } = completed(sizes);
  const { admin, user, operator } = KEYS;
  const far = (rows: number, share: number) => `offset=${Math.floor((rows * share) / 2)}`;
  const ofLarge = (rows: number) => far(rows, largest);
  const day = (ago: number) => new Date(now - ago * DAY).toISOString().slice(0, 10);
  const ever = `from=${day(days)}`;
  const noon = `from=${day(days - 1)}T12:00:00Z&to=${day(1)}T12:00:00Z`;
  const oneDay = `from=${day(40)}&to=${day(40)}`;

  return [
    ...ask(
      admin,
      '/v1/usage',
    )({
      'a month': '',
      'a day': oneDay,
      '24 months by day': ever,
      '24 months by month': `${ever}&granularity=month`,
      '24 months from noon to noon': noon,
    }),
    ...ask(
      admin,
      '/v1/usage/details',
    )({ 'of a session': `session_id=${sessionId}`, 'of a request': `request_id=${requestId}` }),
    ...ask(
      operator,
      '/admin/v1/usage',
    )({
      'all tenants, a month': '',
      'all tenants, 24 months by month': `${ever}&granularity=monthly`,
      'large tenant, 24 months by month': `${ever}&granularity=monthly&tenant_id=${LARGE_TENANT}`,
      'small tenant, 24 months by month': `${ever}&granularity=monthly&tenant_id=${SMALL_TENANT}`,
    }),
    ...ask(
      operator,
      '/admin/v1/usage/tenants',
    )({ 'a month': '', '24 months': ever, '24 months from noon to noon': noon }),

    ...ask(
      admin,
      '/v1/audit-logs',
    )({
      'first page': '',
      'far page': ofLarge(sizes.audit),
      'an action': 'action=POST%20/v1/chat/completions',
      'an action, far page': `action=POST%20/v1/chat/completions&${ofLarge(sizes.audit / 6)}`,
      'an action that is rare': 'action=egress.denied',
      'a day': oneDay,
      'search, found': 'q=rate_limited',
      'search, not found': 'q=no%20such%20text',
    }),
    ...ask(
      operator,
      '/admin/v1/audit-logs',
    )({
      'first page': '',
      'far page': far(sizes.audit, 1),
      'an action': 'action=POST%20/v1/chat/completions',
      'an action that is unknown': 'action=POST%20/v1/nothing',
      'an action, a day': `action=POST%20/v1/chat/completions&${oneDay}`,
      'a day': oneDay,
      'a tenant': `tenant_id=${SMALL_TENANT}`,
      'search, not found': 'q=no%20such%20text',
    }),
    ...ask(
      operator,
      '/admin/v1/egress/blocked-log',
    )({ 'first page': '', 'far page': far(sizes.audit, 1 / 50), 'a tenant': `tenant_id=${LARGE_TENANT}` }),

    ...ask(
      admin,
      '/v1/execution-receipts',
    )({
      'first page': '',
      'far page': ofLarge(sizes.receipts),
      'a session': `session_id=${sessionId}`,
      'a request': `request_id=${requestId}`,
      'a tool': 'tool_name=calculator',
      'a tool that is rare': `tool_name=${RARE_TOOL}`,
      'a status': 'status=error',
      'a status that is rare': 'status=timeout',
      'a tool and a status': 'tool_name=calculator&status=error',
      'search, not found': 'q=no%20such%20text',
    }),

    ...ask(
      admin,
      '/v1/sessions',
    )({
      'first page': '',
      'far page': ofLarge(sizes.sessions),
      'a user': 'user_id=user-7',
      'search, found': 'q=user-7',
      'search, not found': 'q=no%20such%20text',
    }),
    ...ask(user, '/v1/sessions')({ 'his own': '', 'his own, far page': ofLarge(sizes.sessions / 10) }),

    ...ask(
      admin,
      '/v1/workflow-runs',
    )({
      'first page': '',
      'far page': ofLarge(sizes.runs),
      'a status': 'status=cancelled',
      'a definition': 'definition_id=cccccccc-0000-7000-8000-000000000003',
      'a definition and a status': 'definition_id=cccccccc-0000-7000-8000-000000000003&status=cancelled',
      'a day': oneDay,
    }),
    ...ask(
      admin,
      '/v1/workflow-definitions',
    )({
      'first page': '',
      'far page': ofLarge(sizes.definitions),
      'search, not found': 'q=no%20such%20text',
    }),
    ...ask(
      admin,
      '/api/v2/conversations',
    )({ 'first page': '', 'far page': ofLarge(sizes.conversations), 'an agent': 'bot_id=bot-3' }),
    ...ask(user, '/api/v2/conversations')({ 'his own': '' }),
    ...ask(admin, '/api/v2/files')({ 'first page': '' }),
    ...ask(user, '/api/v2/files')({ 'his own': '' }),
  ];
}
