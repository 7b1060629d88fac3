import type http from 'node:http';

/*
 * Node's HTTP server. An `import` of `node:http` reads all of its members, one of which is `WebSocket` and brings
 * Node's whole `fetch` with it: a twentieth of what a start costs.
 */
const builtin: typeof http = process.getBuiltinModule('node:http');

export const { createServer, METHODS, ServerResponse, STATUS_CODES } = builtin;
export type ServerResponse = http.ServerResponse;
