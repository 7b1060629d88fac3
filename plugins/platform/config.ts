import { field } from 'agent-gateway';
import Type from 'typebox';

/** Settings of the platform plugin. */
export const PlatformConfig = Type.Object({
  tenant_retention: field.duration({
    env: 'SVC_TENANT_RETENTION',
    default: '720h',
    max: '87600h',
    description: 'How long a deleted tenant can be restored before its data may be removed',
  }),
});
