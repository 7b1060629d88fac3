import { ADMIN_SCOPE, type Identity } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';

/** What an assignee begins with that is a role and not a user. */
const ROLE = 'role:';

/**
 * The assignees that an identity answers to (decisions 2.5): its own id, and each of its roles as `role:<name>`. Only the credential counts;
 * the `X-Svc-User-Id` that a client sends does not. An id that looks like a role stands for nobody, or a user could name himself into it.
 */
export function assigneesOf({ id, roles }: Identity): readonly string[] {
  const named = roles.map((role) => `${ROLE}${role}`);
  return id.startsWith(ROLE) ? named : [id, ...named];
}

/** True for who may see and complete every task of his tenant: its `admin`s and its `owner`, and who has the scope `admin`. */
export function isTaskAdmin({ roles, scopes }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner') || scopes.has(ADMIN_SCOPE);
}

/** Throws `workflow.not-assigned` unless the identity may complete a task with this assignee. A task of nobody is anybody's. */
export function requireAssignee(assignee: string | null, identity: Identity): void {
  if (assignee === null || assignee === '') return;
  if (assigneesOf(identity).includes(assignee) || isTaskAdmin(identity)) return;
  // An assignee that was filled in from data may be anything: it is not repeated.
  const who = assignee.startsWith(ROLE) ? 'users with another role' : 'somebody else';
  throw WorkflowErrors.notAssigned(
    `This task is for ${who}. Only they and administrators of the tenant may complete it.`,
  );
}
