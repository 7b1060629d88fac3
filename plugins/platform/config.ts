import { field, Type } from 'agent-gateway';

/** Settings of the platform plugin. */
export const PlatformConfig = Type.Object({
  tenant_retention: field.duration({
    env: 'SVC_TENANT_RETENTION',
    default: '720h',
    max: '87600h',
    description: 'How long a deleted tenant can be restored before its data may be removed',
  }),
  purge_interval: field.duration({
    env: 'SVC_PURGE_INTERVAL',
    default: '1h',
    min: '100ms',
    max: '500h',
    description: 'How often deleted tenants whose time is over are purged; one replica at a time does it',
  }),
  audit_retention: field.duration({
    env: 'SVC_AUDIT_RETENTION',
    default: '2160h',
    min: '24h',
    max: '876000h',
    description:
      'How long audit records stay in the database; older days are moved to the object storage as JSON lines, where there is one',
  }),
  enable_mock_sessions: field.boolean({
    env: 'SVC_ENABLE_MOCK_SESSIONS',
    default: false,
    description: 'Serves `POST /v1/mock-sessions`, which makes a session with demo messages',
  }),
});
