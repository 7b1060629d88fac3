import { ConfigurationError } from 'agent-gateway';
import { DEFAULT_SENDER, type EvolutionSettings } from '../../config.ts';
import { type HubAddresses, NODE_ID } from '../../contract.ts';

const MAX_HUBS = 8;

/**
 * The hubs of the settings. Throws a ConfigurationError, which stops the start, for an invalid address, keys that match
 * no hub or cannot be sent, and an id that no hub accepts.
 */
export function readHubAddresses(settings: EvolutionSettings): HubAddresses {
  const { hub_url: urls = [], hub_api_key: keys = [], sender_id } = settings;
  const refuse = (name: string, message: string) => new ConfigurationError([{ name, message }]);
  if (urls.length > MAX_HUBS || !urls.every(isAddress)) {
    const message = `must be up to ${MAX_HUBS} addresses with https or http, without user, query and fragment`;
    throw refuse('EVOLUTION_HUB_URL', message);
  }
  if (urls.length > 0 && keys.length > 1 && keys.length !== urls.length)
    throw refuse('EVOLUTION_HUB_API_KEY', 'must be one key, or one for each hub');
  if (urls.length > 0 && !NODE_ID.test(sender_id))
    throw refuse(
      'EVOLUTION_SENDER_ID',
      'must be letters, digits and . _ : @ -, with a letter or digit first',
    );
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key)))
    throw refuse('EVOLUTION_HUB_API_KEY', 'holds a space or a character that no header can carry');
  return {
    senderId: sender_id === DEFAULT_SENDER ? undefined : sender_id,
    hubs: urls.map((url, n) => ({ url: url.replace(/\/+$/, ''), apiKey: keys[n] ?? keys[0] })),
  };
}

/** Whether a path can be appended, and `fetch` sends it: it refuses an address with a user. */
function isAddress(text: string): boolean {
  const { protocol = '', username, password } = URL.parse(text) ?? {};
  return ['https:', 'http:'].includes(protocol) && !username && !password && !/[?#]/.test(text);
}
