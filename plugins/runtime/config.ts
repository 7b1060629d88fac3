import { field, Type } from 'agent-gateway';

/** Settings of the runtime. */
export const RuntimeConfig = Type.Object({
  address: field.address({
    env: 'SVC_RUNTIME_ADDR',
    default: '0.0.0.0:8888',
    description:
      'Address of the v2 API; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  max_file_size: field.size({
    env: 'SVC_MAX_FILE_SIZE',
    default: '32MiB',
    min: '1KiB',
    max: '4GiB',
    description: 'Bytes of one uploaded file; a larger one is 413',
  }),
});
