import { messageOf } from '../../foundation/base/failure.ts';
import { defineErrors } from '../../foundation/base/gateway-error.ts';

/** What the administration of plugins refuses. */
export const PluginErrors = defineErrors({
  notFound: { code: 'plugin.not-found', kind: 'not-found', title: 'There is no such plugin' },
  fileInvalid: { code: 'plugin.file-invalid', kind: 'conflict', title: 'gateway.yaml cannot be changed' },
  changeFailed: { code: 'plugin.change-failed', kind: 'conflict', title: 'The change was not made' },
});

/** A change of plugins was given up; everything runs as before. `plugin` is the one that stood in its way. */
export class PluginChangeError extends Error {
  override readonly name = 'PluginChangeError';
  readonly plugin: string;

  constructor(plugin: string, cause: unknown) {
    const message = messageOf(cause);
    super(message.startsWith(`${plugin}: `) ? message : `${plugin}: ${message}`, { cause });
    this.plugin = plugin;
  }
}

/** gateway.yaml cannot be changed as it is. */
export class GatewayFileError extends Error {
  override readonly name = 'GatewayFileError';
}
