import type { ConformanceOptions } from 'agent-gateway/testing';

/**
 * What the conformance suite cannot find out by itself: nodes belong to no tenant, and subscriptions belong to keys of
 * the hub.
 */
export default {
  env: { HUB_API_KEYS: 'a-key-of-the-hub-for-conformance' },
  shared: [
    'GET /api/v1/nodes',
    'GET /api/v1/federation/genes',
    'GET /api/v1/genes',
    'GET /api/v1/keys',
    'GET /api/v1/subscriptions',
    'GET /api/v1/subscriptions/{id}',
    'GET /api/v1/subscriptions/{id}/dead-letters',
    'GET /api/v1/dashboard/stream',
    'GET /dashboard',
    'GET /dashboard/app.js',
    'GET /dashboard/style.css',
    'GET /dashboard/icon.svg',
  ],
} satisfies ConformanceOptions;
