import { AnyId, Type } from 'agent-gateway';

/** Records of a page at most. */
export const MAX_PAGE = 500;

/** The `{id}` of a path. A text that is not one of our ids is unknown, not malformed: 404. */
export const IdParams = Type.Object({ id: AnyId });
