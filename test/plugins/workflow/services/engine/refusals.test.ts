import type { Identity } from 'agent-gateway';
import test from 'ava';
import {
  assigneesOf,
  isTaskAdmin,
  requireAssignee,
} from '../../../../../plugins/workflow/services/engine/refusals.ts';

function identity(id: string, roles: readonly string[] = ['user'], scopes: readonly string[] = []): Identity {
  return { id, tenantId: 'tenant', roles, scopes: new Set(scopes), method: 'jwt' };
}

const TABLE: readonly [assignee: string | null, who: Identity, may: boolean][] = [
  [null, identity('ada'), true],
  ['', identity('ada'), true],
  ['ada', identity('ada'), true],
  ['ada', identity('Ada'), false],
  ['ada', identity('bob'), false],
  ['ada', identity('bob', ['admin']), true],
  ['ada', identity('bob', ['owner']), true],
  ['ada', identity('bob', ['user'], ['admin']), true],
  ['ada', identity('bob', ['user'], ['*']), false],
  ['role:billing', identity('ada', ['billing']), true],
  ['role:billing', identity('ada', ['user', 'billing']), true],
  ['role:billing', identity('ada', ['ops']), false],
  ['role:billing', identity('ada', ['admin']), true],
  ['role:billing', identity('role:billing', ['user']), false],
  ['role:', identity('ada', ['user']), false],
];

for (const [assignee, who, may] of TABLE) {
  const roles = who.roles.join('+');
  test(`a task of ${assignee} may ${may ? '' : 'not '}be completed by ${who.id} (${roles} ${[...who.scopes]})`, (t) => {
    if (may) t.notThrows(() => requireAssignee(assignee, who));
    else t.throws(() => requireAssignee(assignee, who), { code: 'workflow.not-assigned' });
    // What is listed for somebody is what he may complete, but for administrators, who ask for all.
    const isListed = assignee === null || assignee === '' || assigneesOf(who).includes(assignee);
    t.is(isListed || isTaskAdmin(who), may);
  });
}

test('a refusal says whether a role is asked for, and does not repeat what may have been filled in from data', (t) => {
  t.throws(() => requireAssignee('role:billing', identity('ada')), { message: /users with another role/ });
  const error = t.throws(() => requireAssignee('AKIAIOSFODNN7EXAMPLE', identity('ada')));
  t.regex(error.message, /somebody else/);
  t.notRegex(error.message, /AKIA/);
});
