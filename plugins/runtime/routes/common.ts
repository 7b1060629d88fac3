import { AnyId, Type } from 'agent-gateway';

/** Records of a page at most. */
export const MAX_PAGE = 500;

/** The `{id}` of a path. What is no id of ours is unknown, not malformed: 404. */
export const IdParams = Type.Object({ id: AnyId });
